package bench

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
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
