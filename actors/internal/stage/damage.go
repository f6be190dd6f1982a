package stage

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"mcpd/supervisor/otp"
)

// Heirs damages what an incarnation has left before the next one takes it over, as a bug might have: fields that are zero, entries that are
// gone from one index and not from the other, that are in it twice, or nil.
type Heirs struct {
	// Rand decides; nil damages nothing. One source makes the same damage again as far as the order of maps does.
	Rand *rand.Rand
	// Whole are names of types and of fields ("kept.o") that are left as they are: what is no state, and what is not changed once it is made.
	Whole []string
	// Fixed are names of fields that are set once, so that only what is in them may be damaged.
	Fixed []string
	// Fatal makes every incarnation crash that has one.
	Fatal bool
	// Done says what was done.
	Done []string

	sites []site
	seen  map[unsafe.Pointer]bool
	pkg   string
}

// site is one thing that may be broken.
type site struct {
	name string
	harm func()
}

// Worker is otp.Worker, whose heirs are damaged.
func (h *Heirs) Worker(f func() otp.Behaviour) otp.Start {
	return otp.Worker(func() otp.Behaviour { return &heiress{f(), h} })
}

type heiress struct {
	otp.Behaviour
	h *Heirs
}

func (b *heiress) Init(p *otp.Process) error {
	switch heir := p.Heir(); {
	case heir == nil:
	case b.h.Fatal:
		panic("cannot live with its heir")
	case b.h.Rand != nil:
		b.h.Damage(heir)
	}
	return b.Behaviour.Init(p)
}

// maxHarm is how many things are broken at once.
const maxHarm = 4

// Damage breaks up to maxHarm things in an heir.
func (h *Heirs) Damage(heir any) {
	v := reflect.ValueOf(heir)
	h.sites, h.seen = nil, map[unsafe.Pointer]bool{}
	if h.pkg = v.Type().PkgPath(); v.Kind() == reflect.Pointer {
		h.pkg = v.Type().Elem().PkgPath()
	}
	h.walk(v.Type().String(), v)
	for range 1 + h.Rand.IntN(maxHarm) {
		if len(h.sites) > 0 {
			s := h.sites[h.Rand.IntN(len(h.sites))]
			h.Done = append(h.Done, s.name)
			s.harm()
		}
	}
}

func (h *Heirs) site(name string, harm func()) { h.sites = append(h.sites, site{name, harm}) }

// walk collects what may be broken below v: in the heir's own types, in those of its parts, and
// in those of package protocol that hold its state.
func (h *Heirs) walk(name string, v reflect.Value) {
	if slices.Contains(h.Whole, v.Type().String()) || slices.Contains(h.Whole, name) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if p := v.UnsafePointer(); p != nil && !h.seen[p] && h.ours(v.Type().Elem()) {
			h.seen[p] = true
			h.walk(name, v.Elem())
		}
	case reflect.Struct:
		if h.ours(v.Type()) && v.CanAddr() {
			h.fields(v)
		}
	case reflect.Map:
		h.entries(name, v)
	case reflect.Slice:
		h.elements(name, v)
	}
}

func (h *Heirs) ours(t reflect.Type) bool {
	of, pure := strings.CutPrefix(t.PkgPath(), "mcpd/protocol/")
	return t.PkgPath() == h.pkg || strings.HasPrefix(t.PkgPath(), h.pkg+"/internal/") || pure && slices.Contains([]string{"inflight", "subscription", "tasks", "held"}, of)
}

func (h *Heirs) fields(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		of, _, _ := strings.Cut(v.Type().Name(), "[") // without the types it is made of
		name := of + "." + f.Name
		if slices.Contains(h.Whole, name) || slices.Contains(h.Whole, f.Type.String()) || strings.HasPrefix(f.Type.String(), "func(") {
			continue
		}
		at := reflect.NewAt(f.Type, unsafe.Pointer(v.Field(i).UnsafeAddr())).Elem()
		if !at.IsZero() && !slices.Contains(h.Fixed, name) {
			h.site("zero "+name, func() { at.SetZero() })
		}
		h.walk(name, at)
	}
}

func (h *Heirs) entries(name string, m reflect.Value) {
	keys := m.MapKeys()
	set := func(k, v reflect.Value) func() {
		return func() {
			if !m.IsNil() { // it may have been zeroed meanwhile
				m.SetMapIndex(k, v)
			}
		}
	}
	for i, k := range keys {
		old := m.MapIndex(k)
		h.site("delete from "+name, set(k, reflect.Value{}))
		h.site("zero in "+name, set(k, reflect.Zero(m.Type().Elem())))
		h.site("zero key in "+name, set(reflect.Zero(m.Type().Key()), old))
		if i > 0 {
			h.site("duplicate in "+name, set(keys[0], old))
		}
		if k.Kind() == reflect.Pointer {
			h.walk(name, k)
		}
		h.walk(name, old)
	}
}

func (h *Heirs) elements(name string, s reflect.Value) {
	for i := range s.Len() {
		e, first := s.Index(i), s.Index(0)
		h.site("zero in "+name, func() { e.SetZero() })
		h.site("duplicate in "+name, func() { e.Set(first) })
		h.walk(name, e)
	}
}
