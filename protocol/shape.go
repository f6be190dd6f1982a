package protocol

import "slices"

// A capability stands in the revisions that have one of its features. Those that are not listed stand in all.
type shape struct {
	path     string
	features []Feature
}

// clientShapes and serverShapes say what to leave out for which revision. Experimental names that later became capabilities are hidden
// from the revisions that do not know them (S4-91).
var (
	clientShapes = []shape{
		{"roots.listChanged", []Feature{RootsListChanged}},
		{"sampling.context", []Feature{SamplingTools}},
		{"sampling.tools", []Feature{SamplingTools}},
		{"elicitation", []Feature{Elicitation}},
		{"elicitation.form", []Feature{URLElicitation}},
		{"elicitation.url", []Feature{URLElicitation}},
		{"tasks", []Feature{Tasks}},
		{"extensions." + ExtensionTasks, []Feature{TasksExtension}},
		{"experimental.elicitation", []Feature{Elicitation}},
		{"experimental.tasks", []Feature{Tasks, TasksExtension}},
	}
	serverShapes = []shape{
		{"completions", []Feature{CompletionsCapability}},
		{"tasks", []Feature{Tasks}},
		{"extensions." + ExtensionTasks, []Feature{TasksExtension}},
		{"experimental.completions", []Feature{CompletionsCapability}},
		{"experimental.elicitation", []Feature{Elicitation}},
		{"experimental.tasks", []Feature{Tasks, TasksExtension}},
	}
)

// Shape is c as a peer of that revision may see it. A revision that is not known gets what the oldest one does (S4-91).
func (c ClientCapabilities) Shape(v Version) ClientCapabilities {
	if c.Has("elicitation") && !c.Has("elicitation.form") && !v.Has(URLElicitation) {
		c = c.Without("elicitation") // {} would promise forms
	}
	return c.Without(hidden(clientShapes, v)...)
}

// Shape is c as a peer of that revision may see it. A revision that is not known gets what the oldest one does (S4-91).
func (c ServerCapabilities) Shape(v Version) ServerCapabilities {
	return c.Without(hidden(serverShapes, v)...)
}

func hidden(shapes []shape, v Version) (paths []string) {
	if !v.known() {
		v = V20241105
	}
	for _, s := range shapes {
		if !slices.ContainsFunc(s.features, v.Has) {
			paths = append(paths, s.path)
		}
	}
	return paths
}

// exists reports whether the revision knows the capability at all. A method cannot be gated on one that cannot be declared:
// completion/complete of 2024-11-05 needs none.
func exists(shapes []shape, v Version, path string) bool {
	i := slices.IndexFunc(shapes, func(s shape) bool { return s.path == path })
	return i < 0 || slices.ContainsFunc(shapes[i].features, v.Has)
}

// Fingerprint is what a server can tell apart about its client. Connections to a legacy server are shared only between clients with equal
// fingerprints.
type Fingerprint uint64

// The bits of a fingerprint.
const (
	CanRoots Fingerprint = 1 << iota
	CanSample
	CanSampleTools
	CanSampleContext
	CanElicitForm
	CanElicitURL
	CanUI
	CanTasks
)

// OfOthers are the bits of a fingerprint that tell the extensions apart which are passed on as they
// are: a digest, which is the same or another as a whole.
const (
	hostedBits             = 8
	OfOthers   Fingerprint = ^Fingerprint(1<<hostedBits - 1)
)

// Asks reports whether a server may ask its client something.
func (f Fingerprint) Asks() bool { return f != f.Unasked() }

// Unasked is the fingerprint of a client that is asked nothing.
func (f Fingerprint) Unasked() Fingerprint { return f & (CanUI | CanTasks | OfOthers) }

var fingerprints = []struct {
	bit  Fingerprint
	path string
}{
	{CanRoots, "roots"},
	{CanSample, "sampling"},
	{CanSampleTools, "sampling.tools"},
	{CanSampleContext, "sampling.context"},
	{CanElicitForm, "elicitation.form"},
	{CanElicitURL, "elicitation.url"},
	{CanUI, "extensions." + ExtensionUI},
	{CanTasks, "extensions." + ExtensionTasks},
}

// Fingerprint is the fingerprint of what the client declared.
func (c ClientCapabilities) Fingerprint() (f Fingerprint) {
	if len(c.raw) <= len("{}") {
		return 0
	}
	for _, row := range fingerprints {
		if c.Has(row.path) {
			f |= row.bit
		}
	}
	return f | c.others()
}

// String lists the capabilities, "none" for none.
func (f Fingerprint) String() string {
	text := ""
	for _, row := range fingerprints {
		if f&row.bit != 0 {
			text += "," + row.path
		}
	}
	if f&OfOthers != 0 {
		text += ",other extensions"
	}
	if text == "" {
		return "none"
	}
	return text[1:]
}
