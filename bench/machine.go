package bench

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mcpd/bench/record"
)

// erlangStart bounds the wait for erl to report its version.
const erlangStart = 10 * time.Second

// machine describes this machine. A field that the system does not report stays empty.
func machine(ctx context.Context, version string) record.Machine {
	m := record.Machine{
		Version: version, Go: runtime.Version(), CPU: field("/proc/cpuinfo", "model name"),
		Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Erlang: erlang(ctx),
	}
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += " " + strings.TrimSpace(string(kernel))
	}
	kib, _, _ := strings.Cut(field("/proc/meminfo", "MemTotal"), " ")
	size, _ := strconv.ParseFloat(kib, 64) // 0 if it is not reported
	m.Memory = size * 1024
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(load), " ")
		m.Load, _ = strconv.ParseFloat(first, 64)
	}
	return m
}

// processor is the CPU time used so far, in seconds: by all processes of this machine, and by this
// process with its children that have ended.
type processor struct{ all, own float64 }

// used returns the CPU time used so far. The field all is 0 where the system does not report it.
func used() (p processor) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		_ = syscall.Getrusage(who, &r) // fails only for a bad argument
		p.own += float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return p
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, word := range strings.Fields(line) {
		// cpu user nice system idle iowait irq softirq steal, in hundredths of a second. Idle time
		// belongs to no process, and interrupt time may be charged to any.
		if n, err := strconv.ParseFloat(word, 64); err == nil && slices.Contains([]int{1, 2, 3, 8}, i) {
			p.all += n / 100
		}
	}
	return p
}

// tick is the unit in which the system counts the CPU time of all processes.
const tick = 0.01 // seconds

// others returns the CPU time that other processes have used since an earlier measurement, in
// seconds. It is 0 if that is unknown, and otherwise at least a tick: the system's coarse count for
// all processes may be less than this process's own count.
func (p processor) others(before processor) float64 {
	if p.all == 0 {
		return 0
	}
	return max(tick, p.all-before.all-(p.own-before.own))
}

// field returns the value of the first line of a file that begins with name.
func field(file, name string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// erlang returns the version of OTP that erl runs, or nothing without erl.
func erlang(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, erlangStart)
	defer cancel()
	const ask = `io:format("OTP ~s, erts ~s", [erlang:system_info(otp_release), erlang:system_info(version)]), halt().`
	out, err := exec.CommandContext(ctx, "erl", "-noshell", "-eval", ask).Output()
	if err != nil {
		return ""
	}
	return string(out)
}
