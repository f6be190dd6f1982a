package kit

import (
	"errors"
	"strings"
	"testing"
)

// length is a role that answers with the length of each line.
var length = Role{Name: "length", Stdio: Answers(func(line string) (any, error) {
	if line == "bad" {
		return nil, errors.New("no such thing\nin two lines")
	}
	return len(line), nil
})}

func TestRolesAnswerLines(t *testing.T) {
	talk, err := StartTalk(t.Context(), length.Name, "")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(line string) (n int, err error) {
		err = talk.Ask(line, &n)
		return n, err
	}
	if n, err := ask("four"); err != nil || n != 4 {
		t.Errorf("%d, %v; want 4", n, err)
	}
	if _, err := ask("bad"); err == nil ||
		!strings.Contains(err.Error(), "no such thing; in two lines") {
		t.Errorf("bad: %v", err)
	}
	if n, err := ask("longer"); err != nil || n != 6 {
		t.Errorf("after an error: %d, %v; want 6", n, err)
	}
	if err := talk.Stop(); err != nil {
		t.Error(err)
	}
	if _, err := ask("four"); err == nil {
		t.Error("a process that has ended answered")
	}
}
