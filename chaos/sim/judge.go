package sim

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/jsonrpc"
)

// Finding is a violation of an invariant.
type Finding struct {
	Invariant string // as the specification calls it
	What      string
}

func (f Finding) String() string { return f.Invariant + ": " + f.What }

// find records a finding.
func (s *simulation) find(invariant, format string, args ...any) {
	f := Finding{invariant, fmt.Sprintf(format, args...)}
	s.w.Note("FINDING", f.Invariant, strings.ReplaceAll(f.What, "\n", " "))
	s.result.Findings = append(s.result.Findings, f)
}

// grace is how much later than its deadline an outcome may be.
const grace = 250 * time.Millisecond

// judge checks every call.
func (s *simulation) judge() {
	if s.struck != s.result.Crashes {
		s.find("I9 supervision", "%d panics struck, and %d crashes were told of", s.struck,
			s.result.Crashes)
	}
	for _, k := range s.calls {
		s.judgeOutcome(k)
		if k.method == "tools/call" {
			s.judgeEffect(k)
		}
	}
}

// judgeOutcome checks the outcome of a call: there is exactly one, it is in time, and it belongs to
// the call.
func (s *simulation) judgeOutcome(k *call) {
	switch {
	case k.refused != nil:
		if k.ended {
			s.find("I1 outcome", "%s %s was refused, and has an outcome: %v", k.nonce, k.method,
				k.outcome.Kind())
		}
		if s.innocent(k) {
			s.find("I3 bystander", "%s %s was refused: %v", k.nonce, k.method, k.refused)
		}
		return
	case !k.ended && !k.cancelled:
		s.find("I1 outcome", "%s %s to %q has none", k.nonce, k.method, k.server)
		return
	case !k.ended:
		return
	}
	switch k.outcome.Kind() {
	case jsonrpc.KindInvalid:
		if !k.cancelled {
			s.find("I1 outcome", "%s %s ended without one, though nobody cancelled it", k.nonce, k.method)
		}
		return
	case jsonrpc.KindFailure:
		if s.innocent(k) && !k.cancelled && !k.mayFail {
			s.find("I3 bystander", "%s %s to %q failed: %v %s", k.nonce, k.method, k.server, k.outcome.Error,
				k.outcome.Error.Data)
		}
	}
	if k.outcome.ID != k.id {
		s.find("I2 cross-talk", "%s %s is answered under the id %v", k.nonce, k.method, k.outcome.ID)
	}
	if took := k.end.Sub(k.at); took > s.bound(k) {
		s.find("I1 outcome", "%s %s to %q took %v", k.nonce, k.method, k.server, took)
	}
}

// bound returns how long a call may take. After a crash the limit is longer by settling, because
// the time of a call begins only when an actor has received it.
func (s *simulation) bound(k *call) time.Duration {
	most := callTimeout
	if k.far > 0 {
		most = callMax
	}
	if k.asked > 0 {
		most += inputTimeout
	}
	if k.method != "tools/call" {
		most = settling
	}
	if s.result.Crashes > 0 {
		most += settling
	}
	return most + grace + maxEarly
}

// innocent reports whether no fault can have affected the call.
func (s *simulation) innocent(k *call) bool {
	return s.result.Faults == 0 || k.c.at.Tenant == bystander && !s.coreBroken
}

// judgeEffect compares the outcome of a call with the effects at its server.
func (s *simulation) judgeEffect(k *call) {
	did := len(s.servers[k.c.at.Tenant+"/"+k.server].effects[k.nonce])
	for at, other := range s.servers {
		if at != k.c.at.Tenant+"/"+k.server && len(other.effects[k.nonce]) > 0 {
			s.find("I2 cross-talk", "%s went to %s", k.nonce, at)
		}
	}
	if did > 1 {
		s.find("I13 effects", "%s was sent to %s %d times", k.nonce, k.server, did)
	}
	switch k.outcome.Kind() {
	case jsonrpc.KindResult:
		if text := string(k.outcome.Result); k.deferred {
		} else if !strings.Contains(text, k.mark()) {
			s.find("I2 cross-talk", "%s to %s is answered %s", k.nonce, k.server, text)
		} else if did == 0 {
			s.find("I13 effects", "%s is answered, and %s has not seen it", k.nonce, k.server)
		}
	case jsonrpc.KindFailure:
		if maybe, ok := jsonedit.Get(k.outcome.Error.Data, "maybeExecuted"); ok &&
			maybe.Kind() == 'f' && did > 0 {
			s.find("I13 effects", "%s was executed by %s, and its client is told that it was not",
				k.nonce, k.server)
		}
	}
}

var errNumber = errors.New("not a number")

func number(text jsontext.Value) (float64, error) {
	if text.Kind() != '0' {
		return 0, errNumber
	}
	return strconv.ParseFloat(string(text), 64)
}
