// Textures of linear memory (hipResourceTypeLinear, tex1Dfetch): their descriptors. Other textures and surfaces are refused.
//
// A handle is the address of the descriptor, which AMD's HIP runtime copies into the texture object. The descriptors have
// the fields that ROCm/ROCR-Runtime sets (runtime/hsa-runtime/image/image_manager_*.cpp); there, NUM_RECORDS are bytes.
#include "hsa.h"
#include "texels.h"

struct ImageDescriptor { uint32_t geometry; size_t width, height, depth, layers; uint32_t type, order; };
enum { BUFFER = 5, WORDS = 12 };

// By hsa_ext_image_channel_type_t: bits and kind of a channel.
static const struct { uint8_t bits; char kind; } types[16] = {
    {8, 'N'}, {16, 'N'}, {8, 'n'}, {16, 'n'}, {0}, {0}, {0}, {0}, {8, 'i'}, {16, 'i'}, {32, 'i'}, {8, 'u'}, {16, 'u'}, {32, 'u'},
    {16, 'f'}, {32, 'f'},
};
static unsigned channels_of(uint32_t order) { return order == 1 ? 1 : order == 3 ? 2 : order == 8 ? 4 : 0; } // R, RG, RGBA

static bool set_format(uint32_t *words, unsigned generation, unsigned channels, unsigned bits, char kind) {
    for (int i = 0; i < TEXEL_FORMAT_COUNT; i++) {
        const struct TexelFormat *row = &TEXEL_FORMATS[i];
        const char *place = strchr(row->kinds, kind);
        if (row->channels != channels || row->bits != bits || !place) continue;
        if (generation == 9)
            words[3] |= (uint32_t)(strchr(NUM_FORMATS, kind) - NUM_FORMATS) << 12 | row->before10 << 15;
        else
            words[3] |= ((generation == 10 ? row->in10 : row->later) + (uint32_t)(place - row->kinds)) << 12;
        for (unsigned k = 0; k < 4; k++)
            words[3] |= (k < channels ? TEXEL_X + k : k == 3 ? TEXEL_ONE : TEXEL_ZERO) << 3 * k;
        return true;
    }
    return false;
}

API hsa_status_t hsa_ext_image_create(hsa_agent_t agent, const struct ImageDescriptor *image, const void *data, int access,
                                      uint64_t *handle) {
    if (image->geometry != BUFFER) return refused("hsa_ext_image_create", "textures and surfaces that are not linear memory");
    const unsigned channels = channels_of(image->order), bits = image->type < 16 ? types[image->type].bits : 0;
    uint32_t *words = calloc(WORDS, sizeof *words);
    const uint64_t address = (uint64_t)data, size = (uint64_t)channels * bits / 8;
    words[0] = (uint32_t)address, words[1] = (uint32_t)(address >> 32 & 0xffff) | (uint32_t)size << 16;
    words[2] = (uint32_t)(image->width * size);
    if (!bits || !set_format(words, agents[agent.handle - 1].version / 1000, channels, bits, types[image->type].kind)) {
        free(words);
        return refused("hsa_ext_image_create", "textures of this format");
    }
    *handle = (uint64_t)words;
    return SUCCESS;
}
API hsa_status_t hsa_ext_image_create_with_layout(hsa_agent_t agent, const struct ImageDescriptor *image, const void *data,
                                                  int access, int layout, size_t row, size_t slice, uint64_t *handle) {
    return hsa_ext_image_create(agent, image, data, access, handle);
}
API hsa_status_t hsa_ext_image_destroy(hsa_agent_t agent, uint64_t handle) { return free((void *)handle), SUCCESS; }

// Linear memory is not sampled, but the HIP runtime makes a sampler for each texture.
API hsa_status_t hsa_ext_sampler_create_v2(hsa_agent_t agent, const void *sampler, uint64_t *handle) {
    return *handle = (uint64_t)calloc(WORDS, sizeof(uint32_t)), SUCCESS;
}
API hsa_status_t hsa_ext_sampler_destroy(hsa_agent_t agent, uint64_t handle) { return free((void *)handle), SUCCESS; }
