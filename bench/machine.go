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

// erlangStart bounds the wait for erl to say what it is.
const erlangStart = 10 * time.Second

// machine is where this runs. What the system does not say stays empty.
func machine(ctx context.Context, version string) record.Machine {
	m := record.Machine{Version: version, Go: runtime.Version(), CPU: field("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), System: runtime.GOOS + "/" + runtime.GOARCH, Erlang: erlang(ctx)}
	if kernel, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.System += " " + strings.TrimSpace(string(kernel))
	}
	kib, _, _ := strings.Cut(field("/proc/meminfo", "MemTotal"), " ")
	size, _ := strconv.ParseFloat(kib, 64) // 0 for what is not said
	m.Memory = size * 1024
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(load), " ")
		m.Load, _ = strconv.ParseFloat(first, 64)
	}
	return m
}

// processor is what processor time has been used, in seconds: by everybody on this machine, and by this process and those of its children that have
// ended.
type processor struct{ all, own float64 }

// used is what has been used so far. All is 0 where the system does not say.
func used() (p processor) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		_ = syscall.Getrusage(who, &r) // it fails for a bad argument only
		p.own += float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return p
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, word := range strings.Fields(line) {
		// cpu user nice system idle iowait irq softirq steal, in hundredths: idle is nobody's, and who is charged for interrupts nobody knows.
		if n, err := strconv.ParseFloat(word, 64); err == nil && slices.Contains([]int{1, 2, 3, 8}, i) {
			p.all += n / 100
		}
	}
	return p
}

// tick is the unit in which the system counts what everybody has used.
const tick = 0.01 // seconds

// others is what others have used since an earlier measurement, in seconds; 0 where that is not known, and at least a tick where it is: what the
// system counts of everybody may be less than what this process has used by its own count.
func (p processor) others(before processor) float64 {
	if p.all == 0 {
		return 0
	}
	return max(tick, p.all-before.all-(p.own-before.own))
}

// field is the value of the first line of a file that begins so.
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

// erlang is the release of OTP that erl runs, empty without one.
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
