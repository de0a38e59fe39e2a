/* A libnvidia-ml.so.1 without a GPU, for tests through the real Python bindings.
 *
 * The file named by FAKE_NVML_SCRIPT says what it plays, one line a rule (sizes in MiB, `*` any function,
 * -1 any GPU; call numbers count the calls that fit the rule, from 1):
 *
 *   gpus COUNT
 *   name GPU TEXT...            uuid GPU TEXT
 *   memory GPU TOTAL USED...    one USED a memory call, the last one stays
 *   util GPU PERCENT PERCENT
 *   process GPU c|g PID BYTES   BYTES -1: not available
 *   error FUNCTION GPU CODE [FROM [TO]]
 *   hang FUNCTION GPU CALL FIFO   says so on FIFO.in, then waits until FIFO.out is written or closed
 *   delay FUNCTION MICROSECONDS   spins
 *
 * FAKE_NVML_TRACE names a file that gets a line "THREAD FUNCTION GPU" for each call.
 * Built with -DOLD_DRIVER it lacks the calls that drivers before 510 lack.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, MAX_GPUS = 16, MAX_ROWS = 64 };

typedef unsigned long long u64;
typedef struct { int pid; char kind; long long bytes; } Listed;
typedef struct {
    int index;
    char name[96], uuid[96];
    long long total_mib, used_mib[MAX_ROWS];
    int steps, memory_calls, util, bandwidth, listed_count;
    Listed listed[MAX_ROWS];
} Gpu;
typedef struct { char what[8], function[64], path[256]; int gpu, code, calls; long from, to; } Rule;
typedef struct { unsigned pid; u64 bytes; unsigned gpu_instance, compute_instance; } ProcessInfo;
typedef struct { u64 total, free_, used; } MemoryV1;
typedef struct { unsigned version; u64 total, reserved, free_, used; } MemoryV2;
typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned version, sensor; int temperature; } TemperatureV1;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } PciInfo;

static Gpu gpus[MAX_GPUS];
static Rule rules[MAX_ROWS];
static int gpu_count, rule_count, trace_fd = -1;

static void read_numbers(Gpu *gpu, const char *text) {
    int used = 0;
    sscanf(text, "%lld%n", &gpu->total_mib, &used);
    for (text += used; gpu->steps < MAX_ROWS && sscanf(text, "%lld%n", &gpu->used_mib[gpu->steps], &used) == 1; text += used)
        gpu->steps++;
}

static void read_rule(const char *what, const char *rest) {
    Rule *rule = &rules[rule_count++];
    rule->from = 1, rule->to = 1L << 40;
    strncpy(rule->what, what, sizeof rule->what - 1);
    if (!strcmp(what, "error")) sscanf(rest, "%63s %d %d %ld %ld", rule->function, &rule->gpu, &rule->code, &rule->from, &rule->to);
    if (!strcmp(what, "hang")) sscanf(rest, "%63s %d %ld %255s", rule->function, &rule->gpu, &rule->from, rule->path), rule->to = rule->from;
    if (!strcmp(what, "delay")) sscanf(rest, "%63s %d", rule->function, &rule->code), rule->gpu = -1;
}

static void read_line(char *line) {
    char what[16] = "", kind = 'c';
    int used = 0, index = 0, skip = 0;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%15s %n", what, &used) < 1 || what[0] == '#') return;
    char *rest = line + used;
    if (!strcmp(what, "gpus")) { gpu_count = atoi(rest); return; }
    if (!strcmp(what, "error") || !strcmp(what, "hang") || !strcmp(what, "delay")) { read_rule(what, rest); return; }
    sscanf(rest, "%d %n", &index, &skip);
    Gpu *gpu = &gpus[index];
    rest += skip;
    if (!strcmp(what, "name")) snprintf(gpu->name, sizeof gpu->name, "%s", rest);
    if (!strcmp(what, "uuid")) snprintf(gpu->uuid, sizeof gpu->uuid, "%s", rest);
    if (!strcmp(what, "memory")) gpu->steps = 0, read_numbers(gpu, rest);
    if (!strcmp(what, "util")) sscanf(rest, "%d %d", &gpu->util, &gpu->bandwidth);
    if (!strcmp(what, "process")) {
        Listed *listed = &gpu->listed[gpu->listed_count++];
        sscanf(rest, "%c %d %lld", &kind, &listed->pid, &listed->bytes);
        listed->kind = kind;
    }
}

__attribute__((constructor)) static void load(void) {
    const char *script = getenv("FAKE_NVML_SCRIPT"), *trace = getenv("FAKE_NVML_TRACE");
    for (int i = 0; i < MAX_GPUS; i++) {
        gpus[i].index = i, gpus[i].total_mib = 81920, gpus[i].steps = 1, gpus[i].used_mib[0] = 1024;
        snprintf(gpus[i].name, sizeof gpus[i].name, "Fake GPU");
        snprintf(gpus[i].uuid, sizeof gpus[i].uuid, "GPU-%08d-fake", i);
    }
    gpu_count = 1;
    if (trace) trace_fd = open(trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    FILE *file = script ? fopen(script, "r") : NULL;
    char line[1024];
    while (file && fgets(line, sizeof line, file)) read_line(line);
    if (file) fclose(file);
}

static void spin(long microseconds) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1000000L + (now.tv_nsec - begin.tv_nsec) / 1000 < microseconds);
}

static void hang(const char *fifo) {
    char path[300], byte = 'h';
    snprintf(path, sizeof path, "%s.in", fifo);
    int told = open(path, O_WRONLY | O_CLOEXEC);
    if (told >= 0 && write(told, &byte, 1) == 1) close(told);
    snprintf(path, sizeof path, "%s.out", fifo);
    int released = open(path, O_RDONLY | O_CLOEXEC);
    if (released >= 0 && read(released, &byte, 1) >= 0) close(released);
}

static int enter(const char *function, int gpu) {
    char line[128];
    int length = snprintf(line, sizeof line, "%ld %s %d\n", syscall(SYS_gettid), function, gpu), code = SUCCESS;
    if (trace_fd >= 0 && write(trace_fd, line, length) < 0) abort();
    for (int i = 0; i < rule_count; i++) {
        Rule *rule = &rules[i];
        if (strcmp(rule->function, "*") && strcmp(rule->function, function)) continue;
        if (!strcmp(rule->function, "*") && gpu < 0) continue;
        if (rule->gpu >= 0 && rule->gpu != gpu) continue;
        rule->calls++;
        if (rule->calls < rule->from || rule->calls > rule->to) continue;
        if (!strcmp(rule->what, "delay")) spin(rule->code);
        if (!strcmp(rule->what, "hang")) hang(rule->path);
        if (!strcmp(rule->what, "error") && code == SUCCESS) code = rule->code;
    }
    return code;
}

#define ENTER(gpu) do { int code = enter(__func__, gpu); if (code) return code; } while (0)

int nvmlInitWithFlags(unsigned flags) { (void)flags; ENTER(-1); return SUCCESS; }
int nvmlShutdown(void) { ENTER(-1); return SUCCESS; }
const char *nvmlErrorString(int code) { (void)code; return "an error of the fake"; }
int nvmlDeviceGetCount_v2(unsigned *count) { ENTER(-1); *count = gpu_count; return SUCCESS; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu **handle) {
    if ((int)index >= gpu_count) return INVALID_ARGUMENT;
    ENTER((int)index);
    *handle = &gpus[index];
    return SUCCESS;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, Gpu **handle) {
    for (int i = 0; i < gpu_count; i++)
        if (!strcmp(gpus[i].uuid, uuid)) { ENTER(i); *handle = &gpus[i]; return SUCCESS; }
    return NOT_FOUND;
}

int nvmlDeviceGetName(Gpu *gpu, char *text, unsigned size) { ENTER(gpu->index); snprintf(text, size, "%s", gpu->name); return SUCCESS; }
int nvmlDeviceGetUUID(Gpu *gpu, char *text, unsigned size) { ENTER(gpu->index); snprintf(text, size, "%s", gpu->uuid); return SUCCESS; }

int nvmlDeviceGetPciInfo_v3(Gpu *gpu, PciInfo *info) {
    ENTER(gpu->index);
    memset(info, 0, sizeof *info);
    snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", gpu->index + 1);
    return SUCCESS;
}

static u64 used_bytes(Gpu *gpu) {
    int step = gpu->memory_calls++;
    return (u64)gpu->used_mib[step < gpu->steps ? step : gpu->steps - 1] << 20;
}

int nvmlDeviceGetMemoryInfo(Gpu *gpu, MemoryV1 *memory) {
    ENTER(gpu->index);
    memory->total = (u64)gpu->total_mib << 20;
    memory->used = used_bytes(gpu) + (300ULL << 20); /* v1 counts what the driver reserves as used */
    memory->free_ = memory->total - memory->used;
    return SUCCESS;
}

int nvmlDeviceGetUtilizationRates(Gpu *gpu, Utilization *rates) { ENTER(gpu->index); rates->gpu = gpu->util; rates->memory = gpu->bandwidth; return SUCCESS; }
int nvmlDeviceGetPowerUsage(Gpu *gpu, unsigned *milliwatts) { ENTER(gpu->index); *milliwatts = 350500; return SUCCESS; }
int nvmlDeviceGetTemperature(Gpu *gpu, unsigned sensor, unsigned *celsius) { (void)sensor; ENTER(gpu->index); *celsius = 61; return SUCCESS; }
int nvmlDeviceGetClockInfo(Gpu *gpu, unsigned type, unsigned *mhz) { (void)type; ENTER(gpu->index); *mhz = 1980; return SUCCESS; }
int nvmlDeviceGetCurrentClocksThrottleReasons(Gpu *gpu, u64 *reasons) { ENTER(gpu->index); *reasons = 4; return SUCCESS; }

static int list_processes(Gpu *gpu, char kind, unsigned *room, ProcessInfo *rows) {
    unsigned count = 0;
    for (int i = 0; i < gpu->listed_count; i++) count += gpu->listed[i].kind == kind;
    if (*room < count) { *room = count; return INSUFFICIENT_SIZE; }
    *room = count;
    for (int i = 0, row = 0; i < gpu->listed_count; i++) {
        if (gpu->listed[i].kind != kind) continue;
        rows[row++] = (ProcessInfo){(unsigned)gpu->listed[i].pid, (u64)gpu->listed[i].bytes, 0, 0};
    }
    return SUCCESS;
}

int nvmlDeviceGetComputeRunningProcesses_v2(Gpu *gpu, unsigned *room, ProcessInfo *rows) { ENTER(gpu->index); return list_processes(gpu, 'c', room, rows); }
int nvmlDeviceGetGraphicsRunningProcesses_v2(Gpu *gpu, unsigned *room, ProcessInfo *rows) { ENTER(gpu->index); return list_processes(gpu, 'g', room, rows); }

#ifndef OLD_DRIVER
int nvmlDeviceGetComputeRunningProcesses_v3(Gpu *gpu, unsigned *room, ProcessInfo *rows) { ENTER(gpu->index); return list_processes(gpu, 'c', room, rows); }
int nvmlDeviceGetGraphicsRunningProcesses_v3(Gpu *gpu, unsigned *room, ProcessInfo *rows) { ENTER(gpu->index); return list_processes(gpu, 'g', room, rows); }
int nvmlDeviceGetTemperatureV(Gpu *gpu, TemperatureV1 *out) { ENTER(gpu->index); out->temperature = 61; return SUCCESS; }
int nvmlDeviceGetCurrentClocksEventReasons(Gpu *gpu, u64 *reasons) { ENTER(gpu->index); *reasons = 4; return SUCCESS; }

int nvmlDeviceGetMemoryInfo_v2(Gpu *gpu, MemoryV2 *memory) {
    ENTER(gpu->index);
    if (memory->version != 0x02000028) return 25;
    memory->total = (u64)gpu->total_mib << 20;
    memory->reserved = 300ULL << 20;
    memory->used = used_bytes(gpu);
    memory->free_ = memory->total - memory->used - memory->reserved;
    return SUCCESS;
}
#endif
