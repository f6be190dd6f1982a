package actor

import (
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"mcpd/bench/kit"
	"mcpd/bench/record"
	"mcpd/bench/subject"
)

func TestMain(m *testing.M) {
	kit.RunIfRole(slices.Concat(Roles, subject.Roles))
	os.Exit(m.Run())
}

// Each side answers every question with as many samples as were asked for.
func TestSidesAnswer(t *testing.T) {
	r := &kit.Run{Short: true, Say: t.Logf}
	s, err := open(t.Context(), r, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if _, err := exec.LookPath("escript"); err == nil && s.talks[record.OTP] == nil {
		t.Errorf("no OTP: %v", r.Record.Missing)
	}
	tests := []struct {
		question question
		alone    bool // mcpd is the only side that answers it
		samples  int64
		check    func(answer) error
	}{
		{question{"restart", 3, "paced", "quiet", "message", 5}, false, 5, nil},
		{question{"restart", 0, "tight", "reports", "call", 5}, false, 5, nil},
		{question{"pool", 10, 5}, false, 5, nil},
		{question{"subtree", 10, 3}, false, 3, nil},
		{question{"isolation", 10, 1000, "reports", 100, "actor"}, false, -1, func(a answer) error {
			if a.Calls == 0 || a.Failures != 0 || a.Kills == 0 {
				return errors.New("want calls, kills and no failures")
			}
			return nil
		}},
		{question{"isolation", 10, 1000, "quiet", 100, "supervisor"}, false, -1, func(a answer) error {
			if a.Calls == 0 || a.Failures != 0 || a.Kills == 0 {
				return errors.New("want calls, kills and no failures")
			}
			return nil
		}},
		{question{"isolation", 10, 0, "quiet", 10, "actor"}, false, -1, func(a answer) error {
			if a.Kills != 0 {
				return errors.New("want no kills")
			}
			return nil
		}},
		{question{"call", 100}, false, 100, nil},
		{question{"idle", 1000}, false, -1, func(a answer) error {
			if a.Bytes < 500 {
				return errors.New("an actor weighs something")
			}
			return nil
		}},
		{question{"watch", 10, 30}, true, -1, nil},
		{question{"flood", 100, 5}, true, 5, nil},
		{question{"bare", 100, 5}, true, 5, nil},
	}
	for _, test := range tests {
		for subject, talk := range s.talks {
			if test.alone && subject != record.Mcpd {
				continue
			}
			var a answer
			if err := talk.Ask(test.question.String(), &a); err != nil {
				t.Errorf("%s: %v", subject, err)
				continue
			}
			if n := a.histogram().TotalCount(); test.samples >= 0 && n != test.samples {
				t.Errorf("%s: %v: %d times, want %d", subject, test.question, n, test.samples)
			}
			if test.check == nil {
				continue
			}
			if err := test.check(a); err != nil {
				t.Errorf("%s: %v: %v: %+v", subject, test.question, err, answer{
					Calls: a.Calls, Failures: a.Failures, Kills: a.Kills, Bytes: a.Bytes,
				})
			}
		}
	}
}

func TestWrongQuestionsAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"sing":                            "no question",
		"call many":                       "no number",
		"restart 1 slow quiet message 1":  "neither paced nor tight",
		"restart 1 paced quiet message":   "no number",
		"isolation 10 -1 quiet 10 actor":  "no number",
		"isolation 10 1 quiet 10 planet":  "neither actor nor supervisor",
		"restart 1 paced quiet mumbles 1": "neither message nor call",
	} {
		if _, err := (side{}).answer(line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}
