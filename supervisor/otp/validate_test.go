package otp

import (
	"strings"
	"testing"
	"time"
)

func TestValidateNamesEveryMistake(t *testing.T) {
	bad := Spec{
		Strategy:     9,
		AutoShutdown: 9,
		Intensity:    Intensity{-1, -time.Second},
		Children: []Child{
			{ID: "", Start: scripted("")},
			{ID: "a/b", Start: scripted("")},
			{ID: strings.Repeat("x", 256), Start: scripted("")},
			{ID: "none"},
			{ID: "none", Start: WorkerWith(func(any) Behaviour { return nil })},
			{ID: "c", Start: scripted(""), Restart: 9, Shutdown: -3, StartTimeout: -1, Mailbox: -1},
			{ID: "s", Start: Supervisor(Spec{
				Strategy:  SimpleOneForOne,
				Intensity: Intensity{MaxRestarts + 1, 0},
				Children: []Child{
					{Significant: true, Start: scripted(""), Mailbox: MaxMailbox + 1}, {Start: Worker(nil)},
				},
			})},
		},
	}
	want := strings.Join([]string{
		".: strategy: unknown invalid(9)",
		".: auto_shutdown: unknown invalid(9)",
		".: intensity: -1 restarts, want 0 or more",
		".: intensity: within -1s, want more than 0",
		"./[0]: id: empty",
		`./a/b: id: "a/b" contains a slash or a control character`,
		"./" + strings.Repeat("x", 256) + ": id: 256 bytes, want at most 255",
		"./none: start: missing",
		"./none: id: twice",
		"./none: start: takes arguments, but is not a template",
		"./c: restart: unknown invalid(9)",
		"./c: shutdown: -3ns",
		"./c: start_timeout: -1ns",
		"./c: mailbox: -1, want 0 to 1048576",
		"./s: intensity: 1048577 restarts, want at most 1048576",
		"./s: intensity: within 0s, want more than 0",
		"./s: children: 2, want exactly the template",
		"./s/[0]: mailbox: 1048577, want 0 to 1048576",
		"./s/[0]: significant: without auto_shutdown",
		"./s/[0]: significant: and permanent: it never ends by itself",
		"./s/[1]: start: missing",
	}, "\n")
	if got := Validate(bad).Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestValidateAcceptsWhatIsRight(t *testing.T) {
	for _, text := range []string{
		"one_for_one { }", "one_for_all 0/1s { a }", "rest_for_one { a; b infinity }",
		"simple_one_for_one { - temporary brutal_kill }",
		"one_for_one all_significant { a transient significant; s sup simple_one_for_one { - } }",
	} {
		if err := Validate(parseTree(text, scripted)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestNilFunctionsAreMissingStarts(t *testing.T) {
	for i, s := range []Start{Worker(nil), WorkerWith(nil), Service(nil), ServiceWith(nil),
		SupervisorWith(nil), {}} {
		if !s.isZero() {
			t.Errorf("start %d is not missing", i)
		}
	}
}

func TestDefaults(t *testing.T) {
	w := Child{Start: scripted("")}.resolved()
	if w.Shutdown != 5*time.Second || w.Mailbox != DefaultMailbox ||
		w.StartTimeout != DefaultStartTimeout {
		t.Errorf("worker %+v", w)
	}
	if s := (Child{Start: Supervisor(Spec{})}).resolved(); s.Shutdown != Infinity {
		t.Errorf("supervisor %+v", s)
	}
}
