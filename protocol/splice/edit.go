package splice

import "github.com/go-json-experiment/json/jsontext"

// Edit changes JSON in many places in one pass from front to back, and makes one copy; none when there is no change. Places are offsets
// into the text that it began with.
type Edit struct {
	raw    jsontext.Value
	out    []byte
	done   int  // raw[:done] is in out, or was left out of it
	broken bool // raw turned out not to be JSON, so it stays as it is
}

// slack is room for what an edit usually adds, so that it is copied once.
const slack = 128

// NewEdit begins with raw, which it does not change.
func NewEdit(raw jsontext.Value) Edit { return Edit{raw: raw} }

// Start is the offset of the first byte that is not space; Raw[Start] tells what the value is.
func (e *Edit) Start() int { return skipSpace(e.raw, 0) }

// Raw is the text that the edit began with.
func (e *Edit) Raw() jsontext.Value { return e.raw }

// Value is the part of that text between two offsets.
func (e *Edit) Value(from, to int) jsontext.Value { return e.raw[from:to:to] }

// Cut leaves out the bytes of [from, to), which must not lie before an earlier change. What is Put next takes their place.
func (e *Edit) Cut(from, to int) {
	if e.out == nil {
		e.out = make([]byte, 0, len(e.raw)+slack)
	}
	e.out = append(e.out, e.raw[e.done:from]...)
	e.done = to
}

// Put adds bytes at the place of the last change.
func (e *Edit) Put(parts ...string) {
	for _, part := range parts {
		e.out = append(e.out, part...)
	}
}

// PutValue adds a value there.
func (e *Edit) PutValue(v jsontext.Value) { e.out = append(e.out, v...) }

// Replace puts a value in the place of the bytes of [from, to).
func (e *Edit) Replace(from, to int, with jsontext.Value) {
	e.Cut(from, to)
	e.PutValue(with)
}

// Result is the text with all changes, or the one that it began with if there were none.
func (e *Edit) Result() jsontext.Value {
	if e.out == nil || e.broken {
		return e.raw
	}
	return append(e.out, e.raw[e.done:]...)
}

// Walk goes through the object or array at that offset; through nothing if there is another value.
func (e *Edit) Walk(at int) Walk {
	c, ok := open(e.raw, at)
	return Walk{c: c, ok: ok}
}

// Walk is a way through the items of one container, on which they can be changed:
//
//	for w := e.Walk(at); e.Next(&w); {
//		if w.Is("title") {
//			e.Drop(&w)
//		}
//	}
//
// It does not hold the edit, so that both can live on the stack.
type Walk struct {
	c    cursor
	it   item
	ok   bool
	kept int  // items that stay, the current one included
	gone bool // the current one was dropped
}

// Next goes on to the next item and reports whether there is one.
func (e *Edit) Next(w *Walk) bool {
	if !w.ok {
		return false
	}
	it, ok := w.c.next()
	if !ok {
		w.ok = false
		e.broken = e.broken || !w.c.closed
		return false
	}
	w.it, w.gone = it, false
	w.kept++
	return true
}

// Name is the name of the current member, quoted, as it stands; an element has none.
func (w *Walk) Name() jsontext.Value {
	if !w.c.object {
		return nil
	}
	return w.it.nameOf(w.c.raw)
}

// Is reports whether the current member has that name, however it is escaped.
func (w *Walk) Is(name string) bool { return same(w.Name(), name) }

// Value is the value of the current item as it was.
func (w *Walk) Value() jsontext.Value { return w.it.valueOf(w.c.raw) }

// Span is where that value stands.
func (w *Walk) Span() (from, to int) { return w.it.value, w.it.end }

// Drop takes the current item away, with one comma beside it.
func (e *Edit) Drop(w *Walk) {
	w.kept--
	w.gone = true
	switch {
	case w.kept > 0: // the comma before it, which an item dropped before this one left standing
		e.Cut(w.it.start-1, w.it.stop)
	case w.c.raw[w.it.stop] == ',':
		e.Cut(w.it.start, w.it.stop+1)
	default:
		e.Cut(w.it.start, w.it.stop)
	}
}

// Set gives the current item another value.
func (e *Edit) Set(w *Walk, value jsontext.Value) { e.Replace(w.it.value, w.it.end, value) }

// Rename gives the current member another name. It comes before a change of its value.
func (e *Edit) Rename(w *Walk, name string) { e.Replace(w.it.from, w.it.colon, Quote(name)) }

// Turn cuts the whole item, name and all. What is Put next stands in its place.
func (e *Edit) Turn(w *Walk) { e.Cut(w.it.from, w.it.end) }

// Add puts a member after the last one. The walk must have ended.
func (e *Edit) Add(w *Walk, name string, value jsontext.Value) {
	if !e.Append(w) {
		return
	}
	e.out, _ = jsontext.AppendQuote(e.out, name)
	e.out = append(e.out, ':')
	e.PutValue(value)
}

// Append makes room for an element after the last one, to be Put next. The walk must have ended. Where there is neither object nor array
// the whole edit comes to nothing.
func (e *Edit) Append(w *Walk) bool {
	if e.broken = e.broken || !w.c.closed; e.broken {
		return false
	}
	e.after(w)
	return true
}

// after goes to the place after the last item and counts one more there.
func (e *Edit) after(w *Walk) {
	at := w.c.at
	if w.kept > 0 && !w.gone {
		at = w.it.end
	}
	at = max(at, e.done)
	e.Cut(at, at)
	if w.kept++; w.kept > 1 {
		e.out = append(e.out, ',')
	}
}

// Equal reports whether v is the JSON string of text, however it is escaped.
func Equal(v jsontext.Value, text string) bool {
	return len(v) > 0 && v[0] == '"' && same(v, text)
}
