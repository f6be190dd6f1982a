package otp

import (
	"errors"
	"fmt"
	"strings"
)

// SpecError is one mistake in a spec.
type SpecError struct {
	Path    string // place in the tree
	Field   string // name of the field
	Problem string
}

func (e *SpecError) Error() string { return fmt.Sprintf("%s: %s: %s", e.Path, e.Field, e.Problem) }

// Validate checks a supervisor and everything below it that is known before it runs. It finds every
// mistake: the result joins one *SpecError for each, and is nil when there is none. Paths are
// relative to the spec.
func Validate(s Spec) error { return errors.Join(check(".", s)...) }

// specRules are the rules for a supervisor. Each why returns "" when its rule is kept.
var specRules = []struct {
	label string
	why   func(s Spec) string
}{
	{"strategy", func(s Spec) string {
		return when(s.Strategy > SimpleOneForOne, "unknown %s", s.Strategy)
	}},
	{"auto_shutdown", func(s Spec) string {
		return when(s.AutoShutdown > AllSignificant, "unknown %s", s.AutoShutdown)
	}},
	{"intensity", func(s Spec) string {
		return when(s.Intensity.Restarts < 0, "%d restarts, want 0 or more", s.Intensity.Restarts)
	}},
	{"intensity", func(s Spec) string {
		return when(s.Intensity.Restarts > MaxRestarts, "%d restarts, want at most %d",
			s.Intensity.Restarts, MaxRestarts)
	}},
	{"intensity", func(s Spec) string {
		return when(s.Intensity != Intensity{} && s.Intensity.Within <= 0, "within %s, want more than 0",
			s.Intensity.Within)
	}},
	{"backoff", func(s Spec) string {
		return when(!s.Backoff.isZero() && s.Strategy != OneForOne, "with %s", s.Strategy)
	}},
	{"backoff", func(s Spec) string {
		b := s.Backoff
		return when(!b.isZero() && (b.First <= 0 || b.Max < b.First || b.Stable <= 0),
			"%s to %s, stable after %s", b.First, b.Max, b.Stable)
	}},
	{"children", func(s Spec) string {
		return when(s.Strategy == SimpleOneForOne && len(s.Children) != 1,
			"%d, want exactly the template", len(s.Children))
	}},
}

// childRules are the rules for a child of a supervisor. Each why returns "" when its rule is kept.
var childRules = []struct {
	label string
	why   func(s Spec, c Child) string
}{
	{"id", func(s Spec, c Child) string {
		if s.Strategy == SimpleOneForOne {
			return ""
		}
		return badID(c.ID)
	}},
	{"start", func(_ Spec, c Child) string { return when(c.Start.isZero(), "missing") }},
	{"start", func(s Spec, c Child) string {
		return when(c.Start.needsArgs && s.Strategy != SimpleOneForOne,
			"takes arguments, but is not a template")
	}},
	{"restart", func(_ Spec, c Child) string {
		return when(c.Restart > Temporary, "unknown %s", c.Restart)
	}},
	{"shutdown", func(_ Spec, c Child) string {
		return when(c.Shutdown < Infinity, "%s", c.Shutdown)
	}},
	{"start_timeout", func(_ Spec, c Child) string {
		return when(c.StartTimeout < 0, "%s", c.StartTimeout)
	}},
	{"soft", func(_ Spec, c Child) string {
		return when(c.SoftTimeout < 0 && c.SoftTimeout != NoTimeout, "%s", c.SoftTimeout)
	}},
	{"hard", func(_ Spec, c Child) string {
		return when(c.HardTimeout < 0 && c.HardTimeout != NoTimeout, "%s", c.HardTimeout)
	}},
	{"mailbox", func(_ Spec, c Child) string {
		return when(c.Mailbox < 0 || c.Mailbox > MaxMailbox, "%d, want 0 to %d", c.Mailbox, MaxMailbox)
	}},
	{"significant", func(s Spec, c Child) string {
		return when(c.Significant && s.AutoShutdown == Never, "without auto_shutdown")
	}},
	{"significant", func(_ Spec, c Child) string {
		return when(c.Significant && c.Restart == Permanent, "and permanent: it never ends by itself")
	}},
}

func check(path string, s Spec) (errs []error) {
	for _, r := range specRules {
		if reason := r.why(s); reason != "" {
			errs = append(errs, &SpecError{path, r.label, reason})
		}
	}
	seen := make(map[string]bool, len(s.Children))
	for i, c := range s.Children {
		at := path + "/" + c.ID
		if c.ID == "" {
			at = fmt.Sprintf("%s/[%d]", path, i)
		}
		if seen[c.ID] && s.Strategy != SimpleOneForOne {
			errs = append(errs, &SpecError{at, "id", "twice"})
		}
		seen[c.ID] = true
		errs = append(errs, checkChild(at, s, c)...)
	}
	return errs
}

func checkChild(path string, s Spec, c Child) (errs []error) {
	for _, r := range childRules {
		if reason := r.why(s, c); reason != "" {
			errs = append(errs, &SpecError{path, r.label, reason})
		}
	}
	if c.Start.static != nil {
		errs = append(errs, check(path, c.Start.static())...)
	}
	return errs
}

// badID says what is wrong with a child's id, "" if nothing.
func badID(id string) string {
	switch {
	case id == "":
		return "empty"
	case len(id) > MaxID:
		return fmt.Sprintf("%d bytes, want at most %d", len(id), MaxID)
	case strings.ContainsFunc(id, func(r rune) bool { return r == '/' || r < ' ' || r == 0x7f }):
		return fmt.Sprintf("%q contains a slash or a control character", id)
	}
	return ""
}

func when(bad bool, format string, args ...any) string {
	if !bad {
		return ""
	}
	return fmt.Sprintf(format, args...)
}
