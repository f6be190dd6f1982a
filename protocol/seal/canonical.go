package seal

import (
	"bufio"
	"bytes"
	"hash"
	"io"
	"slices"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// volatileMembers lists the members of params that differ between a request and its retry.
var volatileMembers = []string{"_meta", "inputResponses", "requestState"}

// canonical hashes the length of the canonical form of params, and then the form itself. The form
// is that of jsontext.Value.Format with jsontext.ReorderRawObjects. Format would make two copies of
// params, which may be large. Instead, canonical reads params in place, records the objects whose
// members are out of order, and writes the form twice: once to measure it and once to hash it. A
// text that is not JSON is hashed unchanged.
func canonical(h hash.Hash, params jsontext.Value) {
	f := canonicalForm{raw: params}
	if !f.read() {
		field(h, jsonedit.Without(params, volatileMembers...))
		return
	}
	var size counter
	f.write(&size, 0, len(params))
	length(h, int(size))
	out := bufio.NewWriterSize(h, 1<<10)
	f.write(out, 0, len(params))
	_ = out.Flush() // a hash never fails
}

// counter counts the bytes that are written to it.
type counter int

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// canonicalForm is a JSON text, with the parts whose order differs in the canonical form.
type canonicalForm struct {
	raw     []byte
	open    []member         // of the objects that are being read
	sorted  map[int32]object // the objects whose members change, by their start
	members []member         // the members of those objects, without omitted ones

	quoted, plain []byte // an escape sequence that is being written, and its text
}

// member is the position of a member, from its name to the end of its value. The field name is the
// end of the name.
type member struct{ from, name, to int32 }

// object is the end of an object, and the range of its members.
type object struct{ to, first, last int32 }

// maxDepth bounds the nesting of values. It is deeper than the limits for decoding, and safe for
// any stack.
const maxDepth = 1 << 10

// read checks the text and records its objects. It also detects duplicate names.
func (f *canonicalForm) read() bool {
	d := jsontext.NewDecoder(bytes.NewBuffer(f.raw), jsontext.AllowDuplicateNames(true))
	if !f.value(d) {
		return false
	}
	_, err := d.ReadToken()
	return err == io.EOF
}

func (f *canonicalForm) value(d *jsontext.Decoder) bool {
	if d.StackDepth() > maxDepth {
		return false
	}
	first, err := d.ReadToken()
	switch {
	case err != nil:
		return false
	case first.Kind() == '{':
		return f.object(d)
	case first.Kind() != '[':
		return true
	}
	for d.PeekKind() != ']' {
		if !f.value(d) {
			return false
		}
	}
	_, err = d.ReadToken()
	return err == nil
}

// object reads the rest of an object. It omits some members of params itself.
func (f *canonicalForm) object(d *jsontext.Decoder) bool {
	from, base, top, asIs := at(d)-1, len(f.open), d.StackDepth() == 1, true
	for d.PeekKind() != '}' {
		name, err := d.ReadValue()
		m := member{from: at(d) - int32(len(name)), name: at(d)}
		named := func(w string) bool { return jsonedit.Equal(name, w) }
		leave := err == nil && top && slices.ContainsFunc(volatileMembers, named)
		if err != nil || !f.value(d) {
			return false
		}
		if m.to = at(d); leave {
			asIs = false
			continue
		}
		asIs = asIs && (len(f.open) == base || f.compare(f.open[len(f.open)-1], m) < 0)
		f.open = append(f.open, m)
	}
	members := f.open[base:]
	f.open = f.open[:base]
	if _, err := d.ReadToken(); err != nil || asIs {
		return err == nil
	}
	slices.SortFunc(members, f.compare)
	for i := 1; i < len(members); i++ {
		if f.compare(members[i-1], members[i]) == 0 {
			return false
		}
	}
	if f.sorted == nil {
		f.sorted = map[int32]object{}
	}
	first := int32(len(f.members))
	f.members = append(f.members, members...)
	f.sorted[from] = object{at(d), first, int32(len(f.members))}
	return true
}

func at(d *jsontext.Decoder) int32 { return int32(d.InputOffset()) }

// compare orders names by their UTF-16 code units (RFC 8785 §3.2.3).
func (f *canonicalForm) compare(a, b member) int {
	x, y := f.raw[a.from+1:a.name-1], f.raw[b.from+1:b.name-1]
	if plain(x) && plain(y) {
		return bytes.Compare(x, y)
	}
	s, _ := jsontext.AppendUnquote(nil, f.raw[a.from:a.name])
	t, _ := jsontext.AppendUnquote(nil, f.raw[b.from:b.name])
	return slices.Compare(utf16.Encode([]rune(string(s))), utf16.Encode([]rune(string(t))))
}

// plain reports whether a name has no escapes, and the order of its bytes equals the order of its
// UTF-16 code units.
func plain(name []byte) bool {
	return !slices.ContainsFunc(name, func(c byte) bool { return c == '\\' || c >= 0xee })
}

// write writes a part of the text in the canonical form.
func (f *canonicalForm) write(w io.Writer, from, to int) {
	for from < to {
		switch f.raw[from] {
		case ' ', '\n', '\r', '\t':
			from++
			continue
		case '"':
			from = f.text(w, from)
			continue
		case '{':
			if o, ok := f.sorted[int32(from)]; ok {
				f.list(w, f.members[o.first:o.last])
				from = int(o.to)
				continue
			}
		}
		end := to
		if n := bytes.IndexAny(f.raw[from+1:to], " \n\r\t\"{"); n >= 0 {
			end = from + 1 + n
		}
		_, _ = w.Write(f.raw[from:end])
		from = end
	}
}

// list writes an object with these members.
func (f *canonicalForm) list(w io.Writer, members []member) {
	_, _ = io.WriteString(w, "{")
	for i, m := range members {
		if i > 0 {
			_, _ = io.WriteString(w, ",")
		}
		f.write(w, int(m.from), int(m.to))
	}
	_, _ = io.WriteString(w, "}")
}
