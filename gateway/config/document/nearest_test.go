package document

import "testing"

func TestWhatWasMeant(t *testing.T) {
	for _, test := range []struct {
		word string
		of   []string
		want string
	}{
		{"comand", []string{"args", "command"}, "command"},
		{"acme", []string{"ACME"}, "ACME"},
		{"ab", []string{"cd"}, ""},
		{"crashloop", []string{"churn", "crash-loop-child", "crash-loop-server"}, "crash-loop-child"},
		{"call_time", []string{"calls", "call-timeout"}, "call-timeout"},
		{"cal", []string{"call-timeout"}, ""},
		{"panic-sesion", []string{"panic-session-manager", "panic-session"}, "panic-session"},
	} {
		if got, ok := nearest(test.word, test.of); got != test.want || ok != (test.want != "") {
			t.Errorf("%q of %q: %q, want %q", test.word, test.of, got, test.want)
		}
	}
}
