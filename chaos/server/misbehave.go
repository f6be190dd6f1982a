package server

import (
	"context"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of the parameters of a fault.
const (
	maxFor  = time.Hour
	maxSize = 1 << 30
)

// none is the name that switches the current fault off.
const none = "none"

// Behaves is the format of the server's answer when a fault is switched off. It takes the number of
// replies that the fault has changed.
const Behaves = "it behaves, after %d strikes"

// misbehave switches a fault on or off. The fault's begin runs only after this call was answered.
func misbehave(_ context.Context, s *server, args jsontext.Value) (string, error) {
	var a struct {
		Fault, For, Delay string
		Times, Code       int
		Size              int64
	}
	if err := json.Unmarshal(args, &a, json.MatchCaseInsensitiveNames(true)); err != nil {
		return "", err
	}
	if a.Fault == none {
		if s.current().Name == "" { // the process may have started after the fault was switched on
			return "it behaves as ever", s.forget()
		}
		struck := s.strikeCount()
		s.set(Fault{})
		return fmt.Sprintf(Behaves, struck), s.forget()
	}
	m, ok := find(a.Fault)
	lasts, err := time.ParseDuration(a.For)
	switch {
	case !ok:
		return "", fmt.Errorf("no fault %q", a.Fault)
	case err != nil || lasts <= 0 || lasts > maxFor:
		return "", fmt.Errorf("for is %q: a time of at most %v it is", a.For, maxFor)
	case a.Times < 0 || a.Size < 0 || a.Size > maxSize || a.Code < 0 || a.Code > 599:
		return "", fmt.Errorf("times %d, size %d or code %d are beyond their bounds", a.Times,
			a.Size, a.Code)
	case m.servers == stdioOnly && s.exchange != nil:
		return "", fmt.Errorf("%s is for a server on standard input and output", m.Name)
	case m.servers == urlOnly && s.exchange == nil:
		return "", fmt.Errorf("%s is for a server behind a URL", m.Name)
	case m.inNewProcess != nil && s.exchange == nil && s.State == "":
		return "", fmt.Errorf(
			"%s is for the next process, and none would know of it: the server has no --state", m.Name,
		)
	}
	f := Fault{Name: m.Name, Until: time.Now().Add(lasts), Times: a.Times, Size: a.Size, Code: a.Code}
	if a.Delay != "" {
		if f.Delay, err = time.ParseDuration(a.Delay); err != nil || f.Delay < 0 || f.Delay > maxFor {
			return "", fmt.Errorf("delay is %q: a time of at most %v it is", a.Delay, maxFor)
		}
	}
	if m.inNewProcess != nil && s.exchange == nil {
		if err := s.keep(f); err != nil {
			return "", err
		}
	}
	s.set(f)
	return m.Description, nil
}
