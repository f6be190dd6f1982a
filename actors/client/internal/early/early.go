package early

import (
	"slices"

	"mcpd/transport"
)

const (
	// Max bounds the questions of one server that wait, and likewise its log lines.
	Max = 8
	// maxParams bounds the params of each of them, in bytes.
	maxParams = 4 << 10
)

// Early is what one server has said early.
type Early struct {
	questions, lines []transport.Inbound
	roots
	callGate
}

// Hold keeps a question for the first session, or a log line, and reports whether it does.
func (e *Early) Hold(in transport.Inbound) bool {
	held := &e.lines
	if !in.Message.ID.IsZero() {
		held = &e.questions
	}
	if len(*held) >= Max || len(in.Message.Params) > maxParams || e.at(in.Message.ID.Raw()) >= 0 {
		return false
	}
	// A slice of what was read would keep all of it.
	in.Message.Params = slices.Clone(in.Message.Params)
	*held = append(*held, in)
	return true
}

// Take removes and returns all questions.
func (e *Early) Take() (all []transport.Inbound) {
	all, e.questions = e.questions, nil
	return all
}

// TakeOne removes and returns the question with this id, if it is there.
func (e *Early) TakeOne(id string) (in transport.Inbound, ok bool) {
	i := e.at(id)
	if i < 0 {
		return in, false
	}
	in = e.questions[i]
	e.questions = slices.Delete(e.questions, i, i+1)
	return in, true
}

func (e *Early) at(id string) int {
	return slices.IndexFunc(e.questions, func(in transport.Inbound) bool {
		return in.Message.ID.Raw() == id
	})
}

// Lines reports whether log lines wait.
func (e *Early) Lines() bool { return len(e.lines) > 0 }

// TakeLines removes and returns all log lines.
func (e *Early) TakeLines() (all []transport.Inbound) {
	all, e.lines = e.lines, nil
	return all
}

// Bytes returns the size of the questions and log lines.
func (e *Early) Bytes() (n int) {
	for _, in := range slices.Concat(e.questions, e.lines) {
		n += Size(in)
	}
	return n
}

// Size returns how many bytes of a message are kept.
func Size(in transport.Inbound) int {
	return len(in.Message.ID.Raw()) + len(in.Message.Method) + len(in.Message.Params)
}
