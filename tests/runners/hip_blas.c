// A libhipblas and libhipblaslt without a GPU, with the functions that parity calls. They compute products of column-major
// matrices by definition and copy the operands from the memory of the (emulated) HIP. They are as strict as BLAS: an
// operand has columns * leading elements, leading is at least a column, and every object must be destroyed before the
// next handle is created.
//
// PARITY_BLAS_FAULT names a file. "FUNCTION=STATUS" in it makes a function return that status, "FUNCTION=-1" makes it
// find nothing, and "FUNCTION=abort" ends the process, as rocBLAS does if it does not have kernels for a GPU.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

extern int hipMemcpy(void *to, const void *from, size_t size, int kind);

enum { Success, NotInitialized, AllocFailed, InvalidValue, MappingError, ExecutionFailed, InternalError, NotSupported };
enum { HostToDevice = 1, DeviceToHost = 2 };
enum { F32 = 0, F64 = 1, F16 = 2, BF16 = 14 };
enum { OpN = 111, OpT = 112 };
enum { Compute32F = 2, Compute64F = 7, GemmDefault = 160 };

static int live;

static int planted(const char *function) {
    char fault[100] = "";
    size_t length = strlen(function);
    FILE *file = fopen(getenv("PARITY_BLAS_FAULT"), "r");
    if (file) {
        fault[fread(fault, 1, sizeof fault - 1, file)] = 0;
        fclose(file);
    }
    if (strncmp(fault, function, length) || fault[length] != '=') return Success;
    if (!strcmp(fault + length + 1, "abort")) {
        fprintf(stderr, "rocBLAS error: Cannot read TensileLibrary.dat\n");
        abort();
    }
    return atoi(fault + length + 1);
}
#define PLANTED                          \
    do {                                 \
        int status = planted(__func__);  \
        if (status > 0) return status;   \
    } while (0)

// Objects

struct Object {
    void *stream;
    int type, operations[2];
    uint64_t rows, columns, limit;
    int64_t leading;
};

static int create(struct Object **object) {
    *object = calloc(1, sizeof **object);
    live++;
    return Success;
}
static int create_handle(struct Object **object) { return live ? InternalError : create(object); }
static void destroy(struct Object *object) {
    free(object);
    live--;
}

// Products

struct Operand {
    const void *memory;
    int type, operation;
    int64_t rows, columns, leading;  // as stored in memory
};

static size_t size_of(int type) { return type == F64 ? 8 : type == F32 ? 4 : 2; }

static double number(const void *data, int type, int64_t i) {
    if (type == F64) return ((const double *)data)[i];
    if (type == F32) return ((const float *)data)[i];
    if (type == F16) return (double)((const _Float16 *)data)[i];
    union { uint32_t bits; float value; } wide = {(uint32_t)((const uint16_t *)data)[i] << 16};
    return wide.value;
}

static void store(void *data, int type, int64_t i, double value) {
    union { float value; uint32_t bits; } wide = {(float)value};
    if (type == F64) ((double *)data)[i] = value;
    else if (type == F32) ((float *)data)[i] = wide.value;
    else if (type == F16) ((_Float16 *)data)[i] = (_Float16)wide.value;
    else ((uint16_t *)data)[i] = (uint16_t)((wide.bits + 0x7FFF + (wide.bits >> 16 & 1)) >> 16);
}

static void *fetched(struct Operand from) {
    size_t size = size_of(from.type) * (size_t)(from.leading * from.columns);
    void *data = malloc(size);
    if (!hipMemcpy(data, from.memory, size, DeviceToHost)) return data;
    free(data);
    return NULL;
}

static double element(const void *data, struct Operand of, int64_t i, int64_t j) {
    return number(data, of.type, of.operation == OpN ? i + j * of.leading : j + i * of.leading);
}

static int multiply(struct Operand a, struct Operand b, int64_t m, int64_t n, int64_t k, void *out, double alpha,
                    double beta) {
    if (m < 1 || n < 1 || k < 1 || a.leading < a.rows || b.leading < b.rows) return InvalidValue;
    if (alpha != 1 || beta != 0) return NotSupported;
    void *left = fetched(a), *right = fetched(b), *result = malloc(size_of(a.type) * (size_t)(m * n));
    for (int64_t i = 0; left && right && i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double wide = 0;
            float narrow = 0;
            for (int64_t l = 0; l < k; l++) {
                double product = element(left, a, i, l) * element(right, b, l, j);
                wide += product;
                narrow += (float)product;
            }
            store(result, a.type, i + j * m, a.type == F64 ? wide : narrow);
        }
    int failed = !left || !right || hipMemcpy(out, result, size_of(a.type) * (size_t)(m * n), HostToDevice);
    free(left), free(right), free(result);
    return failed ? ExecutionFailed : Success;
}

// hipBLAS

API int hipblasCreate(struct Object **handle) { PLANTED; return create_handle(handle); }
API int hipblasDestroy(struct Object *handle) { destroy(handle); PLANTED; return Success; }
API int hipblasSetStream(struct Object *handle, void *stream) {
    PLANTED;
    if (!handle) return NotInitialized;
    handle->stream = stream;
    return Success;
}
API int hipblasGetVersion(struct Object *handle, int *version) {
    PLANTED;
    *version = 30501;
    return Success;
}

API int hipblasGemmEx(struct Object *handle, int operation_a, int operation_b, int m, int n, int k, const void *alpha,
                      const void *a, int type_a, int lda, const void *b, int type_b, int ldb, const void *beta, void *c,
                      int type_c, int ldc, int compute, int algorithm) {
    PLANTED;
    int is_double = type_a == F64;
    if (!handle->stream || type_a != type_b || type_a != type_c || ldc != m || algorithm != GemmDefault ||
        compute != (is_double ? Compute64F : Compute32F))
        return InvalidValue;
    struct Operand left = {a, type_a, operation_a, operation_a == OpN ? m : k, operation_a == OpN ? k : m, lda};
    struct Operand right = {b, type_b, operation_b, operation_b == OpN ? k : n, operation_b == OpN ? n : k, ldb};
    int kind = is_double ? F64 : F32;
    return multiply(left, right, m, n, k, c, number(alpha, kind, 0), number(beta, kind, 0));
}

// hipBLASLt

#define WORKSPACE 256

struct Heuristic {
    uint8_t algorithm[16];
    size_t most_bytes, workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

API int hipblasLtCreate(struct Object **handle) { PLANTED; return create_handle(handle); }
API int hipblasLtDestroy(struct Object *handle) { destroy(handle); PLANTED; return Success; }
API int hipblasLtGetVersion(struct Object *handle, int *version) {
    PLANTED;
    if (!handle) return NotInitialized;
    *version = 100203;
    return Success;
}
API int hipblasLtMatmulDescCreate(struct Object **made, int compute, int scale) {
    PLANTED;
    if (compute != Compute32F || scale != F32) return InvalidValue;
    create(made);
    (*made)->operations[0] = (*made)->operations[1] = OpN;
    return Success;
}
API int hipblasLtMatmulDescDestroy(struct Object *made) { destroy(made); PLANTED; return Success; }
API int hipblasLtMatmulDescSetAttribute(struct Object *made, int attribute, const int32_t *value, size_t size) {
    PLANTED;
    if ((attribute != 0 && attribute != 1) || size != sizeof *value) return InvalidValue;
    made->operations[attribute] = *value;
    return Success;
}
API int hipblasLtMatrixLayoutCreate(struct Object **made, int type, uint64_t rows, uint64_t columns, int64_t leading) {
    PLANTED;
    create(made);
    (*made)->type = type, (*made)->rows = rows, (*made)->columns = columns, (*made)->leading = leading;
    return Success;
}
API int hipblasLtMatrixLayoutDestroy(struct Object *made) { destroy(made); PLANTED; return Success; }
API int hipblasLtMatmulPreferenceCreate(struct Object **made) { PLANTED; return create(made); }
API int hipblasLtMatmulPreferenceDestroy(struct Object *made) { destroy(made); PLANTED; return Success; }
API int hipblasLtMatmulPreferenceSetAttribute(struct Object *made, int attribute, const uint64_t *value, size_t size) {
    PLANTED;
    if (attribute != 1 || size != sizeof *value) return InvalidValue;
    made->limit = *value;
    return Success;
}
API int hipblasLtMatmulAlgoGetHeuristic(struct Object *handle, struct Object *operation, struct Object *a,
                                        struct Object *b, struct Object *c, struct Object *d, struct Object *preference,
                                        int wanted, struct Heuristic *found, int *count) {
    PLANTED;
    if (wanted != 1 || preference->limit < WORKSPACE) return InvalidValue;
    *count = planted(__func__) ? 0 : 1;
    *found = (struct Heuristic){.algorithm = {42}, .workspace_bytes = WORKSPACE};
    return Success;
}
API int hipblasLtMatmul(struct Object *handle, struct Object *operation, const float *alpha, const void *a,
                        struct Object *layout_a, const void *b, struct Object *layout_b, const float *beta,
                        const void *c, struct Object *layout_c, void *d, struct Object *layout_d,
                        const struct Heuristic *algorithm, void *workspace, size_t bytes, void *stream) {
    PLANTED;
    struct Operand left = {a, layout_a->type, operation->operations[0], (int64_t)layout_a->rows,
                           (int64_t)layout_a->columns, layout_a->leading};
    struct Operand right = {b, layout_b->type, operation->operations[1], (int64_t)layout_b->rows,
                            (int64_t)layout_b->columns, layout_b->leading};
    int64_t m = (int64_t)layout_d->rows, n = (int64_t)layout_d->columns;
    int64_t k = left.operation == OpN ? left.columns : left.rows;
    if (!stream || !workspace || bytes != WORKSPACE || algorithm->algorithm[0] != 42 || layout_c != layout_d ||
        layout_d->leading != m || left.type != right.type || left.type != layout_d->type || left.type == F64 ||
        (left.operation == OpN ? left.rows : left.columns) != m ||
        (right.operation == OpN ? right.columns : right.rows) != n ||
        (right.operation == OpN ? right.rows : right.columns) != k)
        return InvalidValue;
    return multiply(left, right, m, n, k, d, *alpha, *beta);
}
