/* A libnvidia-ml.so.1 without a GPU, for tests and benchmarks through the real Python bindings.
 *
 * The file named by FAKE_NVML_SCRIPT says what it plays, one line a rule or a setting. Sizes are in MiB, times in
 * seconds since the library was loaded, `*` is any function, -1 any GPU; slice J of GPU I has the number 100 (I + 1) + J.
 *
 *   gpus COUNT                     up to 32
 *   name GPU TEXT...               uuid GPU TEXT
 *   memory GPU TOTAL USED...       one USED a memory call, the last one stays
 *   ramp GPU TIME USED...          pairs: used memory runs straight from one to the next, and stays at both ends
 *   wave GPU PERIOD LOW HIGH       used memory goes up and down for ever, and with it the utilization from 0 to 100
 *   util GPU PERCENT PERCENT
 *   process GPU c|g PID BYTES      BYTES -1: not available
 *   mig GPU on|off                 whether MIG mode is on; without this line the GPU does not know MIG
 *   slice GPU TOTAL USED UUID      adds a slice;  slice GPU none  takes all away
 *   error FUNCTION GPU CODE [FROM [TO]]   for call numbers, counted over the calls that fit the rule, from 1
 *   lost GPU FROM [TO]             between these times each call about the GPU answers GPU_IS_LOST
 *   hang FUNCTION GPU CALL FIFO    at that call says so on FIFO.in, then waits until FIFO.out is written or closed
 *   hang FUNCTION GPU              waits as long as the rule stands in the control file
 *   delay FUNCTION MICROSECONDS    spins
 *   time SECONDS                   stops the fake's time there
 *   control FILE                   a file of such lines, read again whenever it is replaced (mv): its error, hang, lost
 *                                  and delay rules hold as long as they stand in it, its settings for good
 *
 * FAKE_NVML_TRACE names a file that gets a line "THREAD FUNCTION GPU" for each call.
 * Built with -DOLD_DRIVER it lacks the calls that drivers before 510 lack.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15 };
enum { MAX_GPUS = 32, MAX_SLICES = 7, MAX_ROWS = 64, MIG_UNKNOWN = -1 };

typedef unsigned long long u64;
typedef struct { int pid; char kind; long long bytes; } Listed;
typedef struct Gpu {
    int index;
    char name[96], uuid[96];
    long long total_mib, used_mib[MAX_ROWS];
    double ramp_s[MAX_ROWS], ramp_mib[MAX_ROWS], wave_period_s, wave_low_mib, wave_high_mib;
    int steps, ramp_points, memory_calls, util, bandwidth, listed_count, mig, slice_count, is_slice;
    Listed listed[MAX_ROWS];
} Gpu;
typedef struct { char what[8], function[64], path[256]; int gpu, code, calls; double from, to; } Rule;
typedef struct { unsigned pid; u64 bytes; unsigned gpu_instance, compute_instance; } ProcessInfo;
typedef struct { u64 total, free_, used; } MemoryV1;
typedef struct { unsigned version; u64 total, reserved, free_, used; } MemoryV2;
typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { unsigned version, sensor; int temperature; } TemperatureV1;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } PciInfo;

static Gpu gpus[MAX_GPUS], slices[MAX_GPUS][MAX_SLICES];
static Rule rules[MAX_ROWS];
static int gpu_count, rule_count, lasting_rules, trace_fd = -1;
static double stopped_s = -1;
static char control_path[256];
static struct timespec loaded, control_changed;
static ino_t control_file;
static pthread_mutex_t script_lock = PTHREAD_MUTEX_INITIALIZER;

static double now_s(void) {
    struct timespec now;
    if (stopped_s >= 0) return stopped_s;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - loaded.tv_sec) + (double)(now.tv_nsec - loaded.tv_nsec) * 1e-9;
}

static void read_numbers(Gpu *gpu, const char *text) {
    int used = 0;
    sscanf(text, "%lld%n", &gpu->total_mib, &used);
    for (text += used; gpu->steps < MAX_ROWS && sscanf(text, "%lld%n", &gpu->used_mib[gpu->steps], &used) == 1; text += used)
        gpu->steps++;
}

static void read_ramp(Gpu *gpu, const char *text) {
    int used = 0, n = 0;
    for (; n < MAX_ROWS && sscanf(text, "%lf %lf%n", &gpu->ramp_s[n], &gpu->ramp_mib[n], &used) == 2; text += used) n++;
    gpu->ramp_points = n;
}

static void read_slice(Gpu *gpu, const char *text) {
    if (!strncmp(text, "none", 4)) { gpu->slice_count = 0; return; }
    Gpu *slice = &slices[gpu->index][gpu->slice_count];
    memset(slice, 0, sizeof *slice);
    slice->index = 100 * (gpu->index + 1) + gpu->slice_count++;
    slice->is_slice = slice->steps = 1, slice->mig = MIG_UNKNOWN;
    sscanf(text, "%lld %lld %95s", &slice->total_mib, &slice->used_mib[0], slice->uuid);
    snprintf(slice->name, sizeof slice->name, "%.60s MIG 1g.10gb", gpu->name);
}

static int is_rule(const char *what) {
    return !strcmp(what, "error") || !strcmp(what, "hang") || !strcmp(what, "delay") || !strcmp(what, "lost");
}

static void read_rule(const char *what, const char *rest) {
    if (rule_count == MAX_ROWS) return;
    Rule *rule = &rules[rule_count++];
    memset(rule, 0, sizeof *rule);
    rule->from = 1, rule->to = 1e12, rule->gpu = -1;
    strncpy(rule->what, what, sizeof rule->what - 1);
    if (!strcmp(what, "error")) sscanf(rest, "%63s %d %d %lf %lf", rule->function, &rule->gpu, &rule->code, &rule->from, &rule->to);
    if (!strcmp(what, "hang") && sscanf(rest, "%63s %d %lf %255s", rule->function, &rule->gpu, &rule->from, rule->path) == 4) rule->to = rule->from;
    if (!strcmp(what, "delay")) sscanf(rest, "%63s %d", rule->function, &rule->code);
    if (!strcmp(what, "lost")) sscanf(rest, "%d %lf %lf", &rule->gpu, &rule->from, &rule->to), strcpy(rule->function, "*");
}

static Gpu *gpu_numbered(int number) {
    if (number >= 100) return &slices[(number / 100 - 1) % MAX_GPUS][number % 100 % MAX_SLICES];
    return &gpus[number % MAX_GPUS];
}

static void read_line(char *line) {
    char what[16] = "", kind = 'c';
    int used = 0, index = 0, skip = 0;
    line[strcspn(line, "\n")] = 0;
    if (sscanf(line, "%15s %n", what, &used) < 1 || what[0] == '#') return;
    char *rest = line + used;
    if (!strcmp(what, "gpus")) { gpu_count = atoi(rest); return; }
    if (!strcmp(what, "time")) { stopped_s = atof(rest); return; }
    if (!strcmp(what, "control")) { snprintf(control_path, sizeof control_path, "%s", rest); return; }
    if (is_rule(what)) { read_rule(what, rest); return; }
    sscanf(rest, "%d %n", &index, &skip);
    Gpu *gpu = gpu_numbered(index);
    rest += skip;
    if (!strcmp(what, "name")) snprintf(gpu->name, sizeof gpu->name, "%s", rest);
    if (!strcmp(what, "uuid")) snprintf(gpu->uuid, sizeof gpu->uuid, "%s", rest);
    if (!strcmp(what, "memory")) gpu->steps = 0, read_numbers(gpu, rest);
    if (!strcmp(what, "ramp")) read_ramp(gpu, rest);
    if (!strcmp(what, "wave")) sscanf(rest, "%lf %lf %lf", &gpu->wave_period_s, &gpu->wave_low_mib, &gpu->wave_high_mib);
    if (!strcmp(what, "util")) sscanf(rest, "%d %d", &gpu->util, &gpu->bandwidth);
    if (!strcmp(what, "mig")) gpu->mig = !strncmp(rest, "on", 2);
    if (!strcmp(what, "slice")) read_slice(gpu, rest);
    if (!strcmp(what, "process") && gpu->listed_count < MAX_ROWS) {
        Listed *listed = &gpu->listed[gpu->listed_count++];
        sscanf(rest, "%c %d %lld", &kind, &listed->pid, &listed->bytes);
        listed->kind = kind;
    }
}

static void read_file(const char *path) {
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[1024];
    while (file && fgets(line, sizeof line, file)) read_line(line);
    if (file) fclose(file);
}

/* Called with the lock held. */
static void read_control(void) {
    struct stat file;
    if (!control_path[0]) return;
    if (stat(control_path, &file)) { rule_count = lasting_rules, control_file = 0; return; }
    if (file.st_ino == control_file && !memcmp(&file.st_mtim, &control_changed, sizeof control_changed)) return;
    control_file = file.st_ino, control_changed = file.st_mtim, rule_count = lasting_rules;
    read_file(control_path);
}

__attribute__((constructor)) static void load(void) {
    const char *trace = getenv("FAKE_NVML_TRACE");
    clock_gettime(CLOCK_MONOTONIC, &loaded);
    for (int i = 0; i < MAX_GPUS; i++) {
        gpus[i].index = i, gpus[i].total_mib = 81920, gpus[i].steps = 1, gpus[i].used_mib[0] = 1024, gpus[i].mig = MIG_UNKNOWN;
        snprintf(gpus[i].name, sizeof gpus[i].name, "Fake GPU");
        snprintf(gpus[i].uuid, sizeof gpus[i].uuid, "GPU-%08d-fake", i);
    }
    gpu_count = 1;
    if (trace) trace_fd = open(trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    read_file(getenv("FAKE_NVML_SCRIPT"));
    lasting_rules = rule_count;
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

static int fits(const Rule *rule, const char *function, int gpu) {
    if (strcmp(rule->function, "*") && strcmp(rule->function, function)) return 0;
    if (!strcmp(rule->function, "*") && gpu < 0) return 0;
    return rule->gpu < 0 || rule->gpu == gpu;
}

static int is_lasting_hang(const Rule *rule) { return !strcmp(rule->what, "hang") && !rule->path[0]; }

/* Called with the lock held, which it lets go of while it waits. */
static void hang_while_told(const char *function, int gpu) {
    for (int held = 1; held;) {
        held = 0;
        for (int i = 0; i < rule_count; i++) held |= is_lasting_hang(&rules[i]) && fits(&rules[i], function, gpu);
        if (!held) return;
        pthread_mutex_unlock(&script_lock);
        usleep(2000);
        pthread_mutex_lock(&script_lock);
        read_control();
    }
}

static int is_due(Rule *rule) {
    double at = !strcmp(rule->what, "lost") ? now_s() : ++rule->calls;
    return at >= rule->from && at <= rule->to;
}

static int enter(const char *function, int gpu) {
    char line[128], fifo[256] = "";
    int length = snprintf(line, sizeof line, "%ld %s %d\n", syscall(SYS_gettid), function, gpu), code = SUCCESS;
    long delay_us = 0;
    if (trace_fd >= 0 && write(trace_fd, line, length) < 0) abort();
    pthread_mutex_lock(&script_lock);
    read_control();
    hang_while_told(function, gpu);
    for (int i = 0; i < rule_count; i++) {
        Rule *rule = &rules[i];
        if (is_lasting_hang(rule) || !fits(rule, function, gpu) || !is_due(rule)) continue;
        if (!strcmp(rule->what, "delay")) delay_us += rule->code;
        if (!strcmp(rule->what, "hang")) strcpy(fifo, rule->path);
        if (!strcmp(rule->what, "error") && code == SUCCESS) code = rule->code;
        if (!strcmp(rule->what, "lost")) code = GPU_IS_LOST;
    }
    pthread_mutex_unlock(&script_lock);
    if (delay_us) spin(delay_us);
    if (fifo[0]) hang(fifo);
    return code;
}

#define ENTER(gpu) do { int code = enter(__func__, gpu); if (code) return code; } while (0)
#define ENTER_GPU(gpu) do { ENTER((gpu)->index); if ((gpu)->is_slice) return NOT_SUPPORTED; } while (0)

int nvmlInitWithFlags(unsigned flags) { (void)flags; ENTER(-1); return SUCCESS; }
int nvmlShutdown(void) { ENTER(-1); return SUCCESS; }
const char *nvmlErrorString(int code) { (void)code; return "an error of the fake"; }
int nvmlDeviceGetCount_v2(unsigned *count) { ENTER(-1); *count = gpu_count; return SUCCESS; }

int nvmlSystemGetDriverVersion(char *text, unsigned size) { ENTER(-1); snprintf(text, size, "580.0.0-fake"); return SUCCESS; }
int nvmlSystemGetCudaDriverVersion(int *version) { ENTER(-1); *version = 13000; return SUCCESS; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu **handle) {
    if ((int)index >= gpu_count) return INVALID_ARGUMENT;
    ENTER((int)index);
    *handle = &gpus[index];
    return SUCCESS;
}

static Gpu *gpu_with(const char *uuid) {
    for (int i = 0; i < gpu_count; i++) {
        if (!strcmp(gpus[i].uuid, uuid)) return &gpus[i];
        for (int j = 0; j < gpus[i].slice_count; j++)
            if (!strcmp(slices[i][j].uuid, uuid)) return &slices[i][j];
    }
    return NULL;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, Gpu **handle) {
    Gpu *gpu = gpu_with(uuid);
    if (!gpu) return NOT_FOUND;
    ENTER(gpu->index);
    *handle = gpu;
    return SUCCESS;
}

int nvmlDeviceGetMigMode(Gpu *gpu, unsigned *current, unsigned *pending) {
    ENTER(gpu->index);
    if (gpu->mig == MIG_UNKNOWN) return NOT_SUPPORTED;
    *current = *pending = (unsigned)gpu->mig;
    return SUCCESS;
}

int nvmlDeviceGetMaxMigDeviceCount(Gpu *gpu, unsigned *count) { ENTER(gpu->index); *count = MAX_SLICES; return SUCCESS; }

int nvmlDeviceGetMigDeviceHandleByIndex(Gpu *gpu, unsigned index, Gpu **handle) {
    ENTER(gpu->index);
    if (gpu->mig != 1 || (int)index >= gpu->slice_count) return NOT_FOUND;
    *handle = &slices[gpu->index][index];
    return SUCCESS;
}

int nvmlDeviceGetName(Gpu *gpu, char *text, unsigned size) { ENTER(gpu->index); snprintf(text, size, "%s", gpu->name); return SUCCESS; }
int nvmlDeviceGetUUID(Gpu *gpu, char *text, unsigned size) { ENTER(gpu->index); snprintf(text, size, "%s", gpu->uuid); return SUCCESS; }

int nvmlDeviceGetPciInfo_v3(Gpu *gpu, PciInfo *info) {
    ENTER(gpu->index);
    memset(info, 0, sizeof *info);
    snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", gpu->index + 1);
    return SUCCESS;
}

/* From 0 to 1 and back over one period. */
static double wave_height(const Gpu *gpu) {
    double turns = now_s() / gpu->wave_period_s, phase = turns - (long long)turns;
    return phase < 0.5 ? 2 * phase : 2 - 2 * phase;
}

static double ramp_mib(const Gpu *gpu) {
    double now = now_s();
    int n = gpu->ramp_points, i = 1;
    if (now <= gpu->ramp_s[0]) return gpu->ramp_mib[0];
    while (i < n && now > gpu->ramp_s[i]) i++;
    if (i == n) return gpu->ramp_mib[n - 1];
    double share = (now - gpu->ramp_s[i - 1]) / (gpu->ramp_s[i] - gpu->ramp_s[i - 1]);
    return gpu->ramp_mib[i - 1] + share * (gpu->ramp_mib[i] - gpu->ramp_mib[i - 1]);
}

static u64 used_bytes(Gpu *gpu) {
    if (gpu->wave_period_s > 0) return (u64)(gpu->wave_low_mib + wave_height(gpu) * (gpu->wave_high_mib - gpu->wave_low_mib)) << 20;
    if (gpu->ramp_points) return (u64)ramp_mib(gpu) << 20;
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

int nvmlDeviceGetUtilizationRates(Gpu *gpu, Utilization *rates) {
    ENTER_GPU(gpu);
    if (gpu->mig == 1) return NOT_SUPPORTED;
    rates->gpu = gpu->util, rates->memory = gpu->bandwidth;
    if (gpu->wave_period_s > 0) rates->gpu = (unsigned)(100 * wave_height(gpu)), rates->memory = rates->gpu / 2;
    return SUCCESS;
}

int nvmlDeviceGetPowerUsage(Gpu *gpu, unsigned *milliwatts) { ENTER_GPU(gpu); *milliwatts = 350500; return SUCCESS; }
int nvmlDeviceGetTemperature(Gpu *gpu, unsigned sensor, unsigned *celsius) { (void)sensor; ENTER_GPU(gpu); *celsius = 61; return SUCCESS; }
int nvmlDeviceGetClockInfo(Gpu *gpu, unsigned type, unsigned *mhz) { (void)type; ENTER_GPU(gpu); *mhz = 1980; return SUCCESS; }
int nvmlDeviceGetCurrentClocksThrottleReasons(Gpu *gpu, u64 *reasons) { ENTER_GPU(gpu); *reasons = 4; return SUCCESS; }

/* What other monitors ask besides, so that they can run beside kvtop in a benchmark. */
int nvmlDeviceGetIndex(Gpu *gpu, unsigned *index) { ENTER(gpu->index); *index = (unsigned)gpu->index; return SUCCESS; }
int nvmlDeviceIsMigDeviceHandle(Gpu *gpu, unsigned *answer) { ENTER(gpu->index); *answer = (unsigned)gpu->is_slice; return SUCCESS; }
int nvmlDeviceGetFanSpeed(Gpu *gpu, unsigned *percent) { ENTER_GPU(gpu); *percent = 40; return SUCCESS; }
int nvmlDeviceGetPowerManagementLimit(Gpu *gpu, unsigned *milliwatts) { ENTER_GPU(gpu); *milliwatts = 700000; return SUCCESS; }
int nvmlDeviceGetPersistenceMode(Gpu *gpu, unsigned *on) { ENTER_GPU(gpu); *on = 1; return SUCCESS; }
int nvmlDeviceGetDisplayActive(Gpu *gpu, unsigned *on) { ENTER_GPU(gpu); *on = 0; return SUCCESS; }
int nvmlDeviceGetPerformanceState(Gpu *gpu, unsigned *state) { ENTER_GPU(gpu); *state = 0; return SUCCESS; }
int nvmlDeviceGetComputeMode(Gpu *gpu, unsigned *mode) { ENTER_GPU(gpu); *mode = 0; return SUCCESS; }
int nvmlDeviceGetEncoderUtilization(Gpu *gpu, unsigned *percent, unsigned *period_us) { ENTER_GPU(gpu); *percent = 0; *period_us = 167000; return SUCCESS; }
int nvmlDeviceGetDecoderUtilization(Gpu *gpu, unsigned *percent, unsigned *period_us) { ENTER_GPU(gpu); *percent = 0; *period_us = 167000; return SUCCESS; }
int nvmlDeviceGetTotalEccErrors(Gpu *gpu, unsigned kind, unsigned counter, u64 *count) { (void)kind, (void)counter; ENTER_GPU(gpu); *count = 0; return SUCCESS; }
int nvmlDeviceGetDriverModel_v2(Gpu *gpu, unsigned *current, unsigned *pending) { (void)current, (void)pending; ENTER(gpu->index); return NOT_SUPPORTED; }
int nvmlDeviceGetProcessUtilization(Gpu *gpu, void *rows, unsigned *count, u64 since) { (void)rows, (void)since; ENTER(gpu->index); *count = 0; return NOT_FOUND; }

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
int nvmlDeviceGetTemperatureV(Gpu *gpu, TemperatureV1 *out) { ENTER_GPU(gpu); out->temperature = 61; return SUCCESS; }
int nvmlDeviceGetCurrentClocksEventReasons(Gpu *gpu, u64 *reasons) { ENTER_GPU(gpu); *reasons = 4; return SUCCESS; }

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
