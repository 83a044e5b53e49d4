/* A stand-in for NVIDIA's management library, which a test compiles with a folder as FOLDER: what its GPU
   does follows from the files in it, so that several processes see one GPU.

   limit     power limit that is set, milliwatts [700000]
   clocks    lowest and highest locked clock, MHz [none]
   now       the time, seconds [the monotonic clock]
   flat      if there: power does not swing
   no_rights if there: nothing may be set
   deaf      if there: a limit is taken and not kept
   lost      if there: the GPU has fallen off the bus
   cc        environment, feature and development tools, as numbers [not supported]
   process   id and bytes of a process on the GPU [none]

   Power: limit / 700 W of (300 W + 100 W sin(2 pi t / 40 s)). The counter of energy is its integral.
   Compiled with OLD it lacks the counter of energy, the list of processes and confidential computing. */

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, INVALID = 2, UNSUPPORTED = 3, NO_RIGHTS = 4, NOT_FOUND = 6, TOO_SMALL = 7, LOST = 15 };

static int gpu;
static const double PERIOD_S = 40.0;
static const double PI = 3.14159265358979323846;

static FILE *of(const char *name, const char *mode) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", FOLDER, name);
    return fopen(path, mode);
}

static int is_there(const char *name) {
    FILE *file = of(name, "r");
    if (file) fclose(file);
    return file != NULL;
}

static double number(const char *name, double otherwise) {
    FILE *file = of(name, "r");
    double value = otherwise;
    if (!file) return otherwise;
    if (fscanf(file, "%lf", &value) != 1) value = otherwise;
    fclose(file);
    return value;
}

static int answer(void) { return is_there("lost") ? LOST : OK; }
static int text(char *out, unsigned n, const char *words) { snprintf(out, n, "%s", words); return OK; }
static unsigned limit(void) { return (unsigned)number("limit", 700000); }

static double now_s(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return number("now", at.tv_sec + at.tv_nsec / 1e9);
}

static double swing_w(void) { return is_there("flat") ? 0.0 : 100.0; }

int nvmlInit_v2(void) { return OK; }
int nvmlShutdown(void) { return OK; }
int nvmlSystemGetDriverVersion(char *out, unsigned n) { return text(out, n, "570.86.15"); }
int nvmlSystemGetCudaDriverVersion_v2(int *out) { *out = 12080; return OK; }
int nvmlDeviceGetCount_v2(unsigned *out) { *out = 1; return OK; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) {
    if (index > 0) return INVALID;
    *out = &gpu;
    return answer();
}

int nvmlDeviceGetName(void *d, char *out, unsigned n) { text(out, n, "NVIDIA Stand-in 80GB"); return answer(); }
int nvmlDeviceGetUUID(void *d, char *out, unsigned n) { text(out, n, "GPU-5ta9d-1n"); return answer(); }
int nvmlDeviceGetVbiosVersion(void *d, char *out, unsigned n) { text(out, n, "96.00.74.00.0D"); return answer(); }

struct memory { unsigned version; unsigned long long total, reserved, free, used; };
int nvmlDeviceGetMemoryInfo_v2(void *d, struct memory *out) {
    out->total = 80ull << 30; out->reserved = 0; out->used = 2ull << 30; out->free = 78ull << 30;
    return answer();
}

int nvmlDeviceGetPowerManagementLimit(void *d, unsigned *out) { *out = limit(); return answer(); }
int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *out) { *out = limit(); return answer(); }
int nvmlDeviceGetPowerManagementDefaultLimit(void *d, unsigned *out) { *out = 700000; return answer(); }
int nvmlDeviceGetPowerManagementLimitConstraints(void *d, unsigned *low, unsigned *high) {
    *low = 200000; *high = 700000;
    return answer();
}

int nvmlDeviceSetPowerManagementLimit(void *d, unsigned milliwatts) {
    FILE *file;
    if (answer()) return answer();
    if (is_there("no_rights")) return NO_RIGHTS;
    if (milliwatts < 200000 || milliwatts > 700000) return INVALID;
    if (is_there("deaf")) return OK;
    file = of("limit", "w");
    fprintf(file, "%u\n", milliwatts);
    fclose(file);
    return OK;
}

int nvmlDeviceSetGpuLockedClocks(void *d, unsigned low, unsigned high) {
    FILE *file;
    if (answer()) return answer();
    if (is_there("no_rights")) return NO_RIGHTS;
    file = of("clocks", "w");
    fprintf(file, "%u %u\n", low, high);
    fclose(file);
    return OK;
}

int nvmlDeviceResetGpuLockedClocks(void *d) {
    if (answer()) return answer();
    if (is_there("no_rights")) return NO_RIGHTS;
    unlink(FOLDER "/clocks");
    return OK;
}

int nvmlDeviceGetPowerUsage(void *d, unsigned *out) {
    double watts = limit() / 700000.0 * (300.0 + swing_w() * sin(2 * PI * now_s() / PERIOD_S));
    *out = (unsigned)(watts * 1e3 + 0.5);
    return answer();
}

int nvmlDeviceGetClockInfo(void *d, unsigned kind, unsigned *out) {
    unsigned low, high = 1980;
    FILE *file = of("clocks", "r");
    if (file) {
        if (fscanf(file, "%u %u", &low, &high) != 2) high = 1980;
        fclose(file);
    }
    *out = kind == 2 ? 2619 : high;
    return answer();
}

int nvmlDeviceGetMaxClockInfo(void *d, unsigned kind, unsigned *out) {
    *out = kind == 2 ? 2619 : 1980;
    return answer();
}

int nvmlDeviceGetTemperature(void *d, unsigned sensor, unsigned *out) { *out = 61; return answer(); }
int nvmlDeviceGetEccMode(void *d, unsigned *now, unsigned *next) { *now = *next = 1; return answer(); }
int nvmlDeviceGetMigMode(void *d, unsigned *now, unsigned *next) { *now = *next = 0; return answer(); }
int nvmlDeviceGetPersistenceMode(void *d, unsigned *out) { *out = 1; return answer(); }

int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *out) {
    *out = limit() < 700000 ? 4 : 0;
    return answer();
}

#ifndef OLD
int nvmlDeviceGetTotalEnergyConsumption(void *d, unsigned long long *out) {
    double t = now_s(), turn = 2 * PI / PERIOD_S;
    double joules = 300.0 * t + swing_w() / turn * (1.0 - cos(turn * t));
    *out = (unsigned long long)(limit() / 700000.0 * joules * 1e3);
    return answer();
}

struct process { unsigned pid; unsigned long long bytes; unsigned gpu_instance, compute_instance; };
int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *count, struct process *out) {
    struct process found = {0, 0, 0xFFFFFFFF, 0xFFFFFFFF};
    unsigned room = *count;
    FILE *file = of("process", "r");
    *count = 0;
    if (!file) return answer();
    *count = fscanf(file, "%u %llu", &found.pid, &found.bytes) == 2;
    fclose(file);
    if (room < *count) return TOO_SMALL;
    if (*count && out) *out = found;
    return answer();
}

int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned n) { return text(out, n, "/opt/trainer"); }

static int cc(unsigned *values) {
    FILE *file = of("cc", "r");
    int read;
    if (!file) return UNSUPPORTED;
    read = fscanf(file, "%u %u %u", &values[0], &values[1], &values[2]);
    fclose(file);
    return read == 3 ? OK : UNSUPPORTED;
}

int nvmlSystemGetConfComputeState(unsigned *out) { return cc(out); }
int nvmlSystemGetConfComputeSettings(unsigned *out) { out[4] = 0; return cc(out + 1); }
int nvmlSystemGetConfComputeGpusReadyState(unsigned *out) {
    unsigned values[3];
    *out = 1;
    return cc(values);
}
#endif
