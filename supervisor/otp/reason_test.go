package otp

import (
	"errors"
	"fmt"
	"testing"
)

func TestWhatIsAnOrdinaryEnd(t *testing.T) {
	for _, c := range []struct {
		reason error
		want   bool
	}{
		{nil, true},
		{Normal, true},
		{ErrShutdown, true},
		{ShutdownWith(errTest), true},
		{ShutdownWith(nil), true},
		{errTest, false},
		{ErrKilled, false},
		{ErrNoProc, false},
		{fmt.Errorf("lost the other: %w", ErrShutdown), false},
		{&CrashReport{Reason: ShutdownWith(errTest)}, false},
	} {
		if got := IsNormal(c.reason); got != c.want {
			t.Errorf("%v: %v, want %v", c.reason, got, c.want)
		}
	}
}

func TestReasonsKeepTheirCauses(t *testing.T) {
	many := &IntensityError{Path: "a", Child: "b", Reason: &CrashReport{Reason: errTest}}
	err := ShutdownWith(&StartError{"a/b", ShutdownWith(many)})
	for _, cause := range []error{ErrShutdown, ErrIntensity, errTest} {
		if !errors.Is(err, cause) {
			t.Errorf("%v is not %v", err, cause)
		}
	}
}
