/* A stand-in for libnvidia-ml.so.1 with the entry points that the probe calls, and a machine of the test's making.

   The file named by FAKE_NVML holds lines "KEY VALUE". A key with ".N" behind it speaks of GPU N only.
     count name uuid memory_mib memory_used_mib sm mig links links_up link_version link_remote pcie_generation pcie_width
     clock_sm clock_sm_max clock_mem bus_width throttle processes driver cuda
     fabric_state fabric_clique fabric_cluster (32 hexadecimal digits) fabric_health p2p
     fail FUNCTION CODE        that function answers with that return code; "fail.N" for GPU N only, "*" for all but init
   Values are numbers in C's notation, or text in which \xNN stands for a byte.

   Return codes, constants and layouts are those of NVIDIA's documented interface. Structures with a version are refused
   unless the caller's idea of their size is the same as here. Built with -DOLD_DRIVER, newer entry points are absent. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, VERSION_MISMATCH = 25 };
enum { MAX_GPUS = 16, MAX_LINKS = 18 };

typedef struct { int index; } device;
typedef struct { unsigned long long total, free, used; } memory_info;
typedef struct { unsigned pid; unsigned long long used; unsigned gpu_instance, compute_instance; } process_info;
typedef struct {
  unsigned version;
  unsigned char cluster[16];
  int status;
  uint32_t clique;
  uint8_t state;
  uint32_t health;
} fabric_info_v2;

_Static_assert(sizeof(memory_info) == 24, "layout");
_Static_assert(sizeof(process_info) == 24, "layout");
_Static_assert(sizeof(fabric_info_v2) == 36, "layout");

static int initialized;
static device devices[MAX_GPUS];

/* The last line with this key wins; a line for this GPU wins over one for all. Returns whether there is one. */
static int look_up(const char *wanted, int gpu, char *out, size_t size) {
  const char *path = getenv("FAKE_NVML");
  FILE *file = path ? fopen(path, "r") : NULL;
  char line[512], own[96], value[400], key[96];
  int found = 0, found_own = 0;
  if (!file) return 0;
  snprintf(own, sizeof own, "%s.%d", wanted, gpu);
  while (fgets(line, sizeof line, file)) {
    if (sscanf(line, "%95s %399[^\n]", key, value) != 2) continue;
    int for_this = gpu >= 0 && !strcmp(key, own);
    if (!for_this && (strcmp(key, wanted) || found_own)) continue;
    found = 1;
    found_own |= for_this;
    snprintf(out, size, "%s", value);
  }
  fclose(file);
  return found;
}

static long number(const char *key, int gpu, long otherwise) {
  char text[400];
  return look_up(key, gpu, text, sizeof text) ? strtol(text, NULL, 0) : otherwise;
}

static int copy_text(const char *key, int gpu, const char *otherwise, char *out, unsigned size) {
  char text[400];
  unsigned n = 0;
  if (!look_up(key, gpu, text, sizeof text)) snprintf(text, sizeof text, "%s", otherwise);
  for (const char *p = text; *p; n++) {
    char byte = *p++;
    if (byte == '\\' && *p == 'x') {
      char digits[3] = {p[1], p[2], 0};
      byte = (char)strtol(digits, NULL, 16);
      p += 3;
    }
    if (n + 1 >= size) return INSUFFICIENT_SIZE;
    out[n] = byte;
  }
  out[n] = 0;
  return OK;
}

/* What a function answers before it does anything: a failure the scenario asks for, or that nobody called init. */
static int refusal(const char *function, int gpu) {
  const char *path = getenv("FAKE_NVML");
  FILE *file = path ? fopen(path, "r") : NULL;
  char line[512], key[96], name[96], own[32];
  int code, answer = initialized ? OK : UNINITIALIZED;
  snprintf(own, sizeof own, "fail.%d", gpu);
  while (file && fgets(line, sizeof line, file)) {
    if (sscanf(line, "%95s %95s %d", key, name, &code) != 3) continue;
    if (strcmp(key, "fail") && (gpu < 0 || strcmp(key, own))) continue;
    if (!strcmp(name, function) || !strcmp(name, "*")) answer = code;
  }
  if (file) fclose(file);
  return answer;
}

#define ASK(gpu) do { int answer_ = refusal(__func__, gpu); if (answer_) return answer_; } while (0)
#define NUMBER(function, key, type) \
  int function(device *d, type *out) { ASK(d->index); long n = number(key, d->index, -1); if (n < 0) return NOT_SUPPORTED; *out = (type)n; return OK; }

int nvmlInitWithFlags(unsigned flags) {
  char line[400];
  (void)flags;
  initialized = 1;
  if (look_up("fail_init", -1, line, sizeof line)) { initialized = 0; return (int)strtol(line, NULL, 0); }
  if (look_up("forget_init", -1, line, sizeof line)) initialized = 0;
  return OK;
}
int nvmlShutdown(void) { int was = initialized; initialized = 0; return was ? OK : UNINITIALIZED; }
const char *nvmlErrorString(int code) {
  switch (code) {
    case UNINITIALIZED: return "Uninitialized";
    case NOT_SUPPORTED: return "Not Supported";
    case 20: return "Insufficient Memory";
    default: return "Unknown Error";
  }
}

int nvmlSystemGetDriverVersion(char *out, unsigned size) { ASK(-1); return copy_text("driver", -1, "580.95.05", out, size); }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { ASK(-1); *out = (int)number("cuda", -1, 13000); return OK; }
int nvmlDeviceGetCount_v2(unsigned *out) { ASK(-1); *out = (unsigned)number("count", -1, 0); return OK; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, device **out) {
  ASK((int)index);
  if (index >= MAX_GPUS || (long)index >= number("count", -1, 0)) return INVALID_ARGUMENT;
  devices[index].index = (int)index;
  *out = &devices[index];
  return OK;
}

int nvmlDeviceGetName(device *d, char *out, unsigned size) { ASK(d->index); return copy_text("name", d->index, "NVIDIA Test GPU", out, size); }
int nvmlDeviceGetUUID(device *d, char *out, unsigned size) {
  char otherwise[64];
  ASK(d->index);
  snprintf(otherwise, sizeof otherwise, "GPU-00000000-0000-4000-8000-%012x", (unsigned)d->index);
  return copy_text("uuid", d->index, otherwise, out, size);
}
int nvmlDeviceGetMemoryInfo(device *d, memory_info *out) {
  ASK(d->index);
  out->total = (unsigned long long)number("memory_mib", d->index, 81559) << 20;
  out->used = (unsigned long long)number("memory_used_mib", d->index, 4) << 20;
  out->free = out->total - out->used;
  return OK;
}
int nvmlDeviceGetCudaComputeCapability(device *d, int *major, int *minor) {
  ASK(d->index);
  long sm = number("sm", d->index, 90);
  *major = (int)(sm / 10);
  *minor = (int)(sm % 10);
  return OK;
}
int nvmlDeviceGetMigMode(device *d, unsigned *current, unsigned *pending) {
  ASK(d->index);
  long mode = number("mig", d->index, -1);
  if (mode < 0) return NOT_SUPPORTED;
  *current = *pending = (unsigned)mode;
  return OK;
}

static int link_answer(device *d, unsigned link) {
  if (link >= MAX_LINKS) return INVALID_ARGUMENT;
  return (long)link < number("links", d->index, 0) ? OK : NOT_SUPPORTED;
}
int nvmlDeviceGetNvLinkState(device *d, unsigned link, unsigned *out) {
  ASK(d->index);
  int answer = link_answer(d, link);
  if (!answer) *out = (long)link < number("links_up", d->index, number("links", d->index, 0));
  return answer;
}
int nvmlDeviceGetNvLinkVersion(device *d, unsigned link, unsigned *out) {
  ASK(d->index);
  int answer = link_answer(d, link);
  if (!answer) *out = (unsigned)number("link_version", d->index, 6);
  return answer;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(device *d, unsigned link, unsigned *out) {
  ASK(d->index);
  int answer = link_answer(d, link);
  if (!answer) *out = (unsigned)number("link_remote", d->index, 2);
  return answer;
}

NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie_generation", unsigned)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width", unsigned)
NUMBER(nvmlDeviceGetMemoryBusWidth, "bus_width", unsigned)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, "throttle", unsigned long long)

static int clock(device *d, int kind, const char *sm, const char *memory, unsigned *out) {
  long mhz = kind == 1 ? number(sm, d->index, -1) : kind == 2 ? number(memory, d->index, -1) : -1;
  if (mhz < 0) return NOT_SUPPORTED;
  *out = (unsigned)mhz;
  return OK;
}
int nvmlDeviceGetClockInfo(device *d, int kind, unsigned *out) { ASK(d->index); return clock(d, kind, "clock_sm", "clock_mem", out); }
int nvmlDeviceGetMaxClockInfo(device *d, int kind, unsigned *out) { ASK(d->index); return clock(d, kind, "clock_sm_max", "clock_mem", out); }
int nvmlDeviceGetP2PStatus(device *d, device *other, int kind, int *out) {
  ASK(d->index);
  if (kind < 0 || kind > 5 || d == other) return INVALID_ARGUMENT;
  *out = (int)number("p2p", d->index, 0);
  return OK;
}

#ifndef OLD_DRIVER
int nvmlDeviceGetComputeRunningProcesses_v3(device *d, unsigned *count, process_info *out) {
  ASK(d->index);
  unsigned there = (unsigned)number("processes", d->index, 0), room = out ? *count : 0;
  *count = there;
  if (there > room) return INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < there; i++) out[i] = (process_info){1000 + i, 1ull << 30, ~0u, ~0u};
  return OK;
}
int nvmlDeviceGetGpuFabricInfoV(device *d, fabric_info_v2 *out) {
  char cluster[33] = "00000000000000000000000000000000";
  ASK(d->index);
  if (out->version != (sizeof *out | 2u << 24)) return VERSION_MISMATCH;
  long state = number("fabric_state", d->index, -1);
  if (state < 0) return NOT_SUPPORTED;
  look_up("fabric_cluster", d->index, cluster, sizeof cluster);
  for (int i = 0; i < 16; i++) {
    char digits[3] = {cluster[2 * i], cluster[2 * i + 1], 0};
    out->cluster[i] = (unsigned char)strtol(digits, NULL, 16);
  }
  out->status = (int)number("fabric_status", d->index, 0);
  out->clique = (uint32_t)number("fabric_clique", d->index, 0);
  memset(&out->state, 0xaa, 4); /* the state is one byte, and a driver owes nothing to the three behind it */
  out->state = (uint8_t)state;
  out->health = (uint32_t)number("fabric_health", d->index, 0);
  return OK;
}
#endif
