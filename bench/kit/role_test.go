package kit

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
)

var roles = []Role{
	length,
	{Name: "place", Serve: func(_ context.Context, argument string) (string, error) {
		return "http://" + argument, nil
	}},
	{Name: "refused", Serve: func(context.Context, string) (string, error) {
		return "", io.ErrUnexpectedEOF
	}},
	{Name: "echo", Stdio: func(_ context.Context, _ string, in io.Reader, out io.Writer) error {
		_, err := io.Copy(out, in)
		return err
	}},
}

func TestMain(m *testing.M) {
	RunIfRole(roles)
	os.Exit(m.Run())
}

func TestRolesAreProcessesOfTheirOwn(t *testing.T) {
	p, err := Start(t.Context(), "place", "here")
	if err != nil {
		t.Fatal(err)
	}
	if p.URL != "http://here" || p.PID == os.Getpid() {
		t.Errorf("got %q in process %d", p.URL, p.PID)
	}
	before, err := p.Usage(false)
	if err != nil {
		t.Fatal(err)
	}
	after, err := p.Usage(true)
	if err != nil {
		t.Fatal(err)
	}
	d := after.Minus(before, 2)
	if d.CPU <= 0 || after.InUse() <= 0 {
		t.Errorf("four collections used %+v of %+v", d, after)
	}
	if objects := (after.Objects - before.Objects) / 2; objects <= 0 || d.Objects != objects ||
		d.Allocated < objects {
		t.Errorf("an answer is nothing on the heap: %+v", d)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := p.Usage(false); err == nil {
		t.Error("a process that has ended says what it uses")
	}
}

func TestProcessesThatAreKilledHaveEnded(t *testing.T) {
	address, err := Free()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(t.Context(), "place", address)
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if _, err := p.Usage(false); err == nil || p.URL != "http://"+address {
		t.Errorf("%s: a process that was killed says what it uses", p.URL)
	}
}

func TestRolesThatCannotBePlayed(t *testing.T) {
	for _, name := range []string{"nobody", "refused"} {
		if p, err := Start(t.Context(), name, ""); err == nil {
			_ = p.Stop() // the test has failed already
			t.Errorf("%s was started", name)
		}
	}
}

func TestRoleOfAProgramHasStandardInputAndOutput(t *testing.T) {
	var out strings.Builder
	if err := Play(t.Context(), roles, "echo", "", strings.NewReader("a line\n"), &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != "a line\n" {
		t.Errorf("got %q", out.String())
	}
}
