package load

import (
	"strconv"
	"strings"
)

// Nonce is the text that identifies one call. It is unique within a run. The number of the run
// makes it unique among all runs whose calls may meet in one server.
type Nonce string

// newNonce formats a nonce as "n<run>-<sequence>", both in base 36, so that it needs no escaping
// anywhere.
func newNonce(run, sequence uint64) Nonce {
	b := make([]byte, 0, 28) // 'n', two numbers of at most 13 digits, '-'
	b = append(b, RunName(run)...)
	b = append(b, '-')
	b = strconv.AppendUint(b, sequence, 36)
	return Nonce(b)
}

// RunName returns the part before the hyphen in every nonce of a run. It differs between runs.
func RunName(run uint64) string { return "n" + strconv.FormatUint(run, 36) }

// Sequence returns the number of the nonce within its run, counted from 0. It returns false for a
// nonce of another run.
func (n Nonce) Sequence(run uint64) (sequence uint64, ok bool) {
	of, sequence, ok := n.parts()
	return sequence, ok && of == run
}

// parts is the inverse of newNonce. It returns false for any text that newNonce does not produce.
func (n Nonce) parts() (run, sequence uint64, ok bool) {
	rest, ok := strings.CutPrefix(string(n), "n")
	if !ok {
		return 0, 0, false
	}
	first, second, ok := strings.Cut(rest, "-")
	if !ok {
		return 0, 0, false
	}
	run, err1 := strconv.ParseUint(first, 36, 64)
	sequence, err2 := strconv.ParseUint(second, 36, 64)
	if err1 != nil || err2 != nil || newNonce(run, sequence) != n {
		return 0, 0, false
	}
	return run, sequence, true
}
