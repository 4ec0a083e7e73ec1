// spdlog as host code uses it: what is logged goes nowhere.
#pragma once

#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <parity/fmt.h>

namespace spdlog {
namespace level {
enum level_enum : int { trace, debug, info, warn, err, critical, off, n_levels };
template <typename... A> level_enum from_str(A&&...);
template <typename... A> std::string to_string_view(A&&...);
}  // namespace level
struct spdlog_ex : std::runtime_error { using std::runtime_error::runtime_error; };
struct source_loc { const char* filename; int line; const char* funcname; };
struct formatter {};
struct pattern_formatter : formatter { template <typename... A> pattern_formatter(A&&...); };

#define PARITY_MEMBERS(_) _(trace) _(debug) _(info) _(warn) _(error) _(critical) _(log)
#define PARITY_SETTINGS(_)                                                                                            \
  _(set_level) _(set_pattern) _(set_formatter) _(set_error_handler) _(flush) _(flush_on) _(enable_backtrace)          \
  _(disable_backtrace) _(dump_backtrace)
#define PARITY_FUNCTIONS(_)                                                                                           \
  _(set_default_logger) _(register_logger) _(initialize_logger) _(flush_every) _(drop) _(drop_all) _(shutdown)        \
  _(apply_all) _(init_thread_pool)
#define PARITY_LOGGERS(_)                                                                                             \
  _(get) _(default_logger) _(create) _(basic_logger_mt) _(basic_logger_st) _(rotating_logger_mt) _(rotating_logger_st) \
  _(daily_logger_mt) _(daily_logger_st) _(stdout_color_mt) _(stdout_color_st) _(stderr_color_mt) _(stderr_color_st)   \
  _(stdout_logger_mt) _(stdout_logger_st) _(stderr_logger_mt) _(stderr_logger_st) _(null_logger_mt)
#define PARITY_SINKS(_)                                                                                               \
  _(stdout_color_sink_mt) _(stdout_color_sink_st) _(stderr_color_sink_mt) _(stderr_color_sink_st) _(stdout_sink_mt)   \
  _(stdout_sink_st) _(stderr_sink_mt) _(stderr_sink_st) _(basic_file_sink_mt) _(basic_file_sink_st) _(null_sink_mt)   \
  _(rotating_file_sink_mt) _(rotating_file_sink_st) _(daily_file_sink_mt) _(daily_file_sink_st) _(dist_sink_mt)       \
  _(ostream_sink_mt) _(ostream_sink_st) _(callback_sink_mt)

#define PARITY_NOTHING(name) template <typename... A> void name(A&&...) {}
namespace sinks {
struct sink { PARITY_SETTINGS(PARITY_NOTHING) PARITY_NOTHING(log) level::level_enum level() const; virtual ~sink() = default; };
template <typename Mutex> struct base_sink : sink {};
#define PARITY_SINK(name) struct name : sink { template <typename... A> name(A&&...) {} };
PARITY_SINKS(PARITY_SINK)
#undef PARITY_SINK
}  // namespace sinks
using sink_ptr = std::shared_ptr<sinks::sink>;
using sinks_init_list = std::initializer_list<sink_ptr>;

struct logger {
  template <typename... A> logger(A&&...) {}
  PARITY_MEMBERS(PARITY_NOTHING)
  PARITY_SETTINGS(PARITY_NOTHING)
  bool should_log(level::level_enum) const;
  level::level_enum level() const;
  const std::string& name() const;
  std::vector<sink_ptr>& sinks();
  std::shared_ptr<logger> clone(std::string);
};
struct async_logger : logger { using logger::logger; };
PARITY_MEMBERS(PARITY_NOTHING)
PARITY_SETTINGS(PARITY_NOTHING)
PARITY_FUNCTIONS(PARITY_NOTHING)
#define PARITY_LOGGER(name) template <typename... T, typename... A> std::shared_ptr<logger> name(A&&...);
PARITY_LOGGERS(PARITY_LOGGER)
logger* default_logger_raw();
level::level_enum get_level();
bool should_log(level::level_enum);
#undef PARITY_LOGGER
#undef PARITY_NOTHING
#undef PARITY_SINKS
#undef PARITY_LOGGERS
#undef PARITY_FUNCTIONS
#undef PARITY_SETTINGS
#undef PARITY_MEMBERS
}  // namespace spdlog

#define SPDLOG_LEVEL_TRACE 0
#define SPDLOG_LEVEL_DEBUG 1
#define SPDLOG_LEVEL_INFO 2
#define SPDLOG_LEVEL_WARN 3
#define SPDLOG_LEVEL_ERROR 4
#define SPDLOG_LEVEL_CRITICAL 5
#define SPDLOG_LEVEL_OFF 6
#define SPDLOG_LOGGER_CALL(logger, ...) (logger)->log(__VA_ARGS__)
#define SPDLOG_LOGGER_TRACE(logger, ...) (logger)->trace(__VA_ARGS__)
#define SPDLOG_LOGGER_DEBUG(logger, ...) (logger)->debug(__VA_ARGS__)
#define SPDLOG_LOGGER_INFO(logger, ...) (logger)->info(__VA_ARGS__)
#define SPDLOG_LOGGER_WARN(logger, ...) (logger)->warn(__VA_ARGS__)
#define SPDLOG_LOGGER_ERROR(logger, ...) (logger)->error(__VA_ARGS__)
#define SPDLOG_LOGGER_CRITICAL(logger, ...) (logger)->critical(__VA_ARGS__)
#define SPDLOG_TRACE(...) ::spdlog::trace(__VA_ARGS__)
#define SPDLOG_DEBUG(...) ::spdlog::debug(__VA_ARGS__)
#define SPDLOG_INFO(...) ::spdlog::info(__VA_ARGS__)
#define SPDLOG_WARN(...) ::spdlog::warn(__VA_ARGS__)
#define SPDLOG_ERROR(...) ::spdlog::error(__VA_ARGS__)
#define SPDLOG_CRITICAL(...) ::spdlog::critical(__VA_ARGS__)
