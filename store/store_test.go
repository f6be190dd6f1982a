package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/internal/regular"
)

func opened(t *testing.T, dir string) *Store {
	t.Helper()
	s, damage, err := Open(dir, nil)
	if err != nil || damage != nil {
		t.Fatalf("opened: %v, damage: %v", err, damage)
	}
	return s
}

// value is a JSON string of n bytes.
func value(n int) jsontext.Value { return jsontext.Value(`"` + strings.Repeat("x", n) + `"`) }

func all(s *Store, b Bucket) map[string]string {
	list := map[string]string{}
	for k, v := range s.All(b) {
		list[k] = string(v)
	}
	return list
}

// A value that was set is there when the file is opened again, and a deleted one is not. Each
// bucket has its own keys.
func TestChangesAreKept(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir)
	for _, changes := range [][]Change{
		{{Sessions, "a", value(1)}, {Sessions, "b", value(2)}, {Secrets, "a", value(7)}},
		{{Sessions, "b", nil}, {Sessions, "a", value(3)}, {Sessions, "none", nil}},
	} {
		if err := s.Apply(changes); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, dir)
	defer s.Close()
	if got := fmt.Sprint(all(s, Sessions), s.Get(Secrets, "a"),
		s.Get(Secrets, "b")); got != `map[a:"xxx"] "xxxxxxx" null` {
		t.Errorf("got %s", got)
	}
	info, err := os.Stat(filepath.Join(dir, file))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// A probe is a line that no start finds: it is written, and changes nothing.
func TestProbeChangesNothing(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir)
	if err := s.Apply([]Change{{Sessions, "a", value(1)}}); err != nil {
		t.Fatal(err)
	}
	before := s.size
	if err := s.Apply([]Change{Probe()}); err != nil || s.size-before < probeLen ||
		s.garbage != s.size-before {
		t.Errorf("%v, %d bytes, of which %d are outdated", err, s.size-before, s.garbage)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, dir)
	defer s.Close()
	if got := s.Buckets(); len(got) != 1 || len(all(s, Sessions)) != 1 {
		t.Errorf("got %v in %v", all(s, Sessions), got)
	}
}

// A change that cannot be written returns an error, and no part of it is written.
func TestChangeThatIsNone(t *testing.T) {
	s := opened(t, t.TempDir())
	defer s.Close()
	for _, v := range []jsontext.Value{jsontext.Value("{"), value(maxLine)} {
		if err := s.Apply([]Change{{Sessions, "a", value(1)}, {Sessions, "b", v}}); err == nil {
			t.Errorf("%.20s was taken", v)
		}
	}
	if got := all(s, Sessions); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

// filled is a log of so many sessions.
func filled(t *testing.T, n int) []byte {
	t.Helper()
	dir := t.TempDir()
	s := opened(t, dir)
	for i := range n {
		if err := s.Apply([]Change{{Sessions, fmt.Sprint(i), value(500)}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A file that is no log of ours, or is broken anywhere, prevents no start and causes no panic. Of a
// log of ours only the broken lines are lost, and the file is kept.
func TestForeignAndBrokenFiles(t *testing.T) {
	const n = 200
	whole := filled(t, n)
	noise := rand.New(rand.NewPCG(1, 2))
	broken := func(at, n int) []byte {
		data := bytes.Clone(whole)
		for i := at; i < min(at+n, len(data)); i++ {
			data[i] = byte(noise.Uint32())
		}
		return data
	}
	end := bytes.IndexByte(whole, '\n') + 1
	cases := map[string]struct {
		data      []byte
		remaining int // at least so many sessions
	}{
		"nothing":        {nil, 0},
		"text":           {[]byte("state: nothing\n"), 0},
		"zeros":          {make([]byte, 64<<10), 0},
		"all of it":      {broken(0, len(whole)), 0},
		"first line":     {broken(0, end), 0},
		"cut off":        {whole[:len(whole)-10], n - 1},
		"cut in half":    {whole[:len(whole)/2+7], n/2 - 1},
		"another format": {append(line(t, header{"99"}), whole[end:]...), 0},
		"no JSON":        {append(bytes.Clone(whole), "12345678 {\n"...), n},
		"a long line": {append(append(bytes.Clone(whole), bytes.Repeat([]byte("y"), maxLine+1)...),
			'\n'), n},
	}
	for i := range 50 {
		cases[fmt.Sprint("somewhere ", i)] = struct {
			data      []byte
			remaining int
		}{broken(end+noise.IntN(len(whole)-end), 64), n - 2}
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, file)
			if err := os.WriteFile(path, tt.data, 0o600); err != nil {
				t.Fatal(err)
			}
			s, damage, err := Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			if damage == nil {
				t.Fatal("nobody is told of the damage")
			}
			if damage.Torn > 0 {
				if end := bytes.LastIndexByte(tt.data, '\n') + 1; damage.Torn != int64(len(tt.data)-end) ||
					!strings.Contains(damage.Error(), fmt.Sprint(damage.Torn, " bytes")) || damage.Kept != "" {
					t.Errorf("%d bytes are torn, damage: %v", len(tt.data)-end, damage)
				}
			} else {
				if kept, err := os.ReadFile(damage.Kept); err != nil || !bytes.Equal(kept, tt.data) ||
					!strings.Contains(damage.Error(), damage.Kept) {
					t.Errorf("kept %d bytes of %d: %v; %v", len(kept), len(tt.data), err, damage)
				}
			}
			if got := len(all(s, Sessions)); got < tt.remaining {
				t.Errorf("%d sessions are left, want at least %d", got, tt.remaining)
			}
			before := len(all(s, Sessions))
			if err := s.Apply([]Change{{Sessions, "new", value(1)}}); err != nil {
				t.Error(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			s = opened(t, dir)
			defer s.Close()
			if got := len(all(s, Sessions)); got != before+1 {
				t.Errorf("%d sessions are there again, want %d", got, before+1)
			}
		})
	}
}

func line(t *testing.T, v any) []byte {
	t.Helper()
	l, err := appendText(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// A log that is mostly garbage is rewritten. The rewrite loses no value, and keeps the log from
// growing without end.
func TestLogIsWrittenAnew(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir)
	if err := s.Apply([]Change{{Secrets, "key", value(7)}}); err != nil {
		t.Fatal(err)
	}
	for i := range 20_000 {
		if err := s.Apply([]Change{{Sessions, fmt.Sprint(i % 10), value(i % 500)},
			{Sessions, "gone", value(100)}, {Sessions, "gone", nil}}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(filepath.Join(dir, file))
	if err != nil || info.Size() > 2*minGarbage {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, dir)
	defer s.Close()
	if got := all(s, Sessions); len(got) != 10 || got["9"] != string(value(499)) ||
		len(s.Get(Secrets, "key")) != 9 {
		t.Errorf("got %d: %.40s", len(got), got["9"])
	}
}

// A write that a full disk cuts off returns an error, and loses no earlier value. It succeeds when
// there is space.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir)
	defer s.Close()
	if err := s.Apply([]Change{{Sessions, "a", value(10)}}); err != nil {
		t.Fatal(err)
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE,
		&syscall.Rlimit{Cur: 4096, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	err := s.Apply([]Change{{Sessions, "b", value(100_000)}})
	if restored := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); restored != nil {
		t.Fatal(restored)
	}
	if err == nil {
		t.Error("the disk was full, and nobody noticed")
	}
	if err := s.Apply([]Change{{Sessions, "c", value(100_000)}}); err != nil {
		t.Error(err)
	}
	if got := all(s, Sessions); len(got) != 2 || got["a"] != string(value(10)) ||
		len(got["c"]) != 100_002 {
		t.Errorf("got %d", len(got))
	}
}

// A directory that is not writable causes an error that names it.
func TestNoDirectory(t *testing.T) {
	if _, _, err := Open(filepath.Join(t.TempDir(), "none"), nil); err == nil ||
		!strings.Contains(err.Error(), "none") {
		t.Errorf("got %v", err)
	}
}

// I12: a change survives a SIGKILL that comes right after Apply returned.
func TestAppliedChangesSurviveSIGKILL(t *testing.T) {
	if dir := os.Getenv("STORE_TEST_DIR"); dir != "" {
		s := opened(t, dir)
		for n := range 100 {
			if err := s.Apply([]Change{{Sessions, fmt.Sprintf("%03d", n), value(1)}}); err != nil {
				t.Fatal(err)
			}
		}
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestAppliedChangesSurviveSIGKILL$")
	cmd.Env = append(os.Environ(), "STORE_TEST_DIR="+dir)
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Fatalf("it was not killed: %s", out)
	}
	s := opened(t, dir)
	defer s.Close()
	if got := len(all(s, Sessions)); got != 100 {
		t.Errorf("%d of 100 are there", got)
	}
}

// Each tenant has its own bucket of lists. The bucket disappears with its last value, and is found
// again after the next.
func TestBucketsOfLists(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir)
	for _, c := range []Change{{Lists("acme"), "files", value(1)}, {Lists("other"), "files", value(2)},
		{Sessions, "a", value(3)}, {Lists("acme"), "files", nil}, {Tasks("third"), "a", value(4)}} {
		if err := s.Apply([]Change{c}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, dir)
	defer s.Close()
	var tenants []string
	for _, b := range s.Buckets() {
		if tenant, ok := TenantOf(b); ok {
			tenants = append(tenants, tenant)
		}
	}
	slices.Sort(tenants)
	if !slices.Equal(tenants, []string{"other", "third"}) || len(all(s, Lists("other"))) != 1 ||
		len(all(s, Lists("acme"))) != 0 {
		t.Errorf("lists of %v", tenants)
	}
}

// A value comes back as it was set, to the byte, with its escapes and numbers.
func TestValueIsNotChanged(t *testing.T) {
	s := opened(t, t.TempDir())
	defer s.Close()
	v := jsontext.Value(`{"a":"\u003cb\u003e","n":12345678901234567890.10}`)
	if err := s.Apply([]Change{{Lists("acme"), "files", v}}); err != nil {
		t.Fatal(err)
	}
	if got := s.Get(Lists("acme"), "files"); string(got) != string(v) {
		t.Errorf("got %s", got)
	}
}

// A pipe in place of the log, or of the file for its rewrite, is refused, without waiting.
func TestLogThatIsAPipeIsRefused(t *testing.T) {
	for _, name := range []string{file, file + ".new"} {
		dir := t.TempDir()
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { // owner: the test, which waits for the result
			_, _, err := Open(dir, nil)
			done <- err
		}()
		select {
		case err := <-done:
			if !errors.Is(err, regular.ErrNotRegular) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(10 * time.Second):
			t.Errorf("%s is waited for", name)
		}
	}
}
