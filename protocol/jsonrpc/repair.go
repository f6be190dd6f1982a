package jsonrpc

import (
	"math"
	"slices"
	"strconv"
)

// repairer scans text as a scanner does. It collects the edits that turn the text into strict JSON
// with the same meaning. The edits remove earlier members of the same name and, in responses,
// values that stand for an absent member. They also rewrite ids and error objects.
type repairer struct {
	scanner
	edits []edit
}

// edit replaces a part of the input by text.
type edit struct {
	span
	text string
}

// member is one member of an open object. It spans from the name to the end of the value. Next is
// the position of the next member's name, or 0 for the last member.
type member struct {
	from, value, to, next int
	dropped               bool
}

// repair returns the text with the edits made. It returns false if the text is not JSON.
func (s *repairer) repair() ([]byte, bool) {
	s.space()
	if s.peek() == '[' {
		s.elements(1, true)
	} else {
		s.pass(1, true)
	}
	if s.err != nil || !s.end() {
		return nil, false
	}
	return s.edited(), true
}

// pass skips one value. Message says that the value is a whole message and not a part of one.
func (s *repairer) pass(depth int, message bool) bool {
	switch s.peek() {
	case '{':
		return s.members(depth, message)
	case '[':
		return s.elements(depth, false)
	}
	return s.value(depth)
}

func (s *repairer) elements(depth int, messages bool) bool {
	if !s.open(depth) {
		return false
	}
	for more := s.peek() != ']'; more; {
		if !s.pass(depth+1, messages) {
			return false
		}
		if more = s.another(']'); s.err != nil {
			return false
		}
	}
	s.pos++
	s.last = s.pos
	return true
}

func (s *repairer) members(depth int, message bool) bool {
	if !s.open(depth) {
		return false
	}
	var all []member
	places := map[string]int{}
	for more := s.peek() != '}'; more; {
		m := member{from: s.pos}
		if s.peek() != '"' {
			return s.broken("a member's name")
		}
		k, ok := s.text()
		if !ok {
			return false
		}
		s.unescapeName(&k)
		name := string(s.name(k))
		s.texts = s.texts[:0]
		s.space()
		if s.peek() != ':' {
			return s.broken("':'")
		}
		s.pos++
		s.space()
		m.value = s.pos
		if !s.pass(depth+1, false) {
			return false
		}
		m.to = s.last
		if more = s.comma(); s.err != nil {
			return false
		}
		if more {
			m.next = s.pos
		}
		if before, there := places[name]; there {
			all[before].dropped = true
		}
		places[name] = len(all)
		all = append(all, m)
	}
	s.pos++
	s.last = s.pos
	if message {
		s.envelope(all, places)
	}
	s.drop(all)
	return true
}

// envelope edits the top level of a response: members that stand for an absent member, the notation
// of the id, and the error object.
func (s *repairer) envelope(all []member, places map[string]int) {
	is := func(name, want string) bool {
		i, ok := places[name]
		return ok && (want == "" || string(s.data[all[i].value:all[i].to]) == want)
	}
	if is("method", "") && !is("method", "null") {
		return
	}
	for _, name := range []string{"method", "params"} {
		if is(name, "null") {
			all[places[name]].dropped = true
		}
	}
	switch {
	case is("error", "null") && is("result", ""):
		all[places["error"]].dropped = true
	case is("result", "") && is("error", "") &&
		(is("result", "null") || s.data[all[places["error"]].value] == '{'):
		all[places["result"]].dropped = true
	}
	if i, ok := places["id"]; ok {
		s.whole(span{all[i].value, all[i].to})
	}
	if i, ok := places["error"]; ok {
		s.errorObject(span{all[i].value, all[i].to})
	}
}

// errorObject ensures that an error has a code and a message, so that the caller sees the parts
// that the server did send. Several servers omit one of them, or send a bare text.
func (s *repairer) errorObject(at span) {
	const code = `"code":-32603`
	switch s.data[at.from] {
	case '"':
		s.edits = append(s.edits, edit{at, `{` + code + `,"message":` + string(s.raw(at)) + `}`})
		return
	case '{':
	default:
		return
	}
	number, message, data := s.failureParts(at)
	if number.given() {
		s.whole(number)
	}
	switch {
	case !message.given() && !number.given() && !data.given():
		s.edits = append(s.edits, edit{at, `{` + code + `,"message":""}`})
		return
	case !message.given():
		s.edits = append(s.edits, edit{span{at.from, at.from + 1}, `{"message":"",`})
	case string(s.raw(message)) == "null":
		s.edits = append(s.edits, edit{message, `""`})
	}
	switch {
	case number.given():
		if _, ok := whole(string(s.raw(number))); !ok {
			s.edits = append(s.edits, edit{number, "-32603"})
		}
	case message.given() || data.given():
		s.edits = append(s.edits, edit{span{at.from, at.from + 1}, `{` + code + `,`})
	}
}

// whole rewrites the number at that place as plain digits.
func (s *repairer) whole(at span) {
	raw := string(s.raw(at))
	if digits, ok := whole(raw); ok && digits != raw {
		s.edits = append(s.edits, edit{at, digits})
	}
}

// whole returns a number as plain digits if JavaScript reads it as an integer that it represents
// exactly.
func whole(raw string) (digits string, ok bool) {
	if raw == "" || raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return "", false
	}
	n, err := strconv.ParseFloat(raw, 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > maxSafe {
		return "", false
	}
	return strconv.FormatInt(int64(n), 10), true
}

// drop adds the edits that remove the dropped members of an object.
func (s *repairer) drop(all []member) {
	end := -1 // end of the last member that stays
	for i, m := range all {
		switch {
		case !m.dropped:
			end = m.to
		case m.next > 0:
			s.edits = append(s.edits, edit{span: span{m.from, m.next}})
		case end >= 0:
			s.edits = append(s.edits, edit{span: span{end, m.to}})
		default:
			s.edits = append(s.edits, edit{span: span{all[0].from, all[i].to}})
		}
	}
}

// edited returns the text with the edits made. An edit within another edit is ignored.
func (s *repairer) edited() []byte {
	if len(s.edits) == 0 {
		return s.data
	}
	slices.SortFunc(s.edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return b.to - a.to
	})
	out, done := make([]byte, 0, len(s.data)), 0
	for _, e := range s.edits {
		if e.from < done {
			if e.to > done {
				done = e.to
			}
			continue
		}
		out = append(append(out, s.data[done:e.from]...), e.text...)
		done = e.to
	}
	return append(out, s.data[done:]...)
}
