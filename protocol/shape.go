package protocol

import (
	"fmt"
	"slices"
	"strings"
)

// versionedCapability says that a capability exists in the revisions that have at least one of the
// features. A capability that is not listed exists in all revisions.
type versionedCapability struct {
	path     string
	features []Feature
}

// clientShapes and serverShapes list the capabilities that some revisions lack. Experimental names
// that later became capabilities are hidden from the revisions that do not know the capability.
var (
	clientShapes = []versionedCapability{
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
	serverShapes = []versionedCapability{
		{"completions", []Feature{CompletionsCapability}},
		{"tasks", []Feature{Tasks}},
		{"extensions." + ExtensionTasks, []Feature{TasksExtension}},
		{"experimental.completions", []Feature{CompletionsCapability}},
		{"experimental.elicitation", []Feature{Elicitation}},
		{"experimental.tasks", []Feature{Tasks, TasksExtension}},
	}
)

// Shape returns c without the capabilities that a peer of revision v does not know. An unknown
// revision is treated like the oldest one.
func (c ClientCapabilities) Shape(v Version) ClientCapabilities {
	if c.Has("elicitation") && !c.Has("elicitation.form") && !v.Has(URLElicitation) {
		c = c.Without("elicitation") // {} would declare forms
	}
	return c.Without(hidden(clientShapes, v)...)
}

// Shape returns c without the capabilities that a peer of revision v does not know. An unknown
// revision is treated like the oldest one.
func (c ServerCapabilities) Shape(v Version) ServerCapabilities {
	return c.Without(hidden(serverShapes, v)...)
}

// hidden lists the capabilities that revision v does not know.
func hidden(shapes []versionedCapability, v Version) (paths []string) {
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

// exists reports whether the revision knows the capability at all. A capability that a revision
// cannot declare must not gate a method: completion/complete of 2024-11-05 needs no capability.
func exists(shapes []versionedCapability, v Version, path string) bool {
	i := slices.IndexFunc(shapes, func(s versionedCapability) bool { return s.path == path })
	return i < 0 || slices.ContainsFunc(shapes[i].features, v.Has)
}

// Fingerprint is a bit set of the differences between clients that a server can see. Clients share
// a connection to a legacy server only if their fingerprints are equal.
type Fingerprint uint64

// The bits of a fingerprint, one for each capability.
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

// OtherExtensions is the mask of the bits that hold a digest of the extensions that mcpd passes
// through without knowing them. Digests are compared as a whole; their single bits have no meaning.
const (
	hostedBits                  = 8
	OtherExtensions Fingerprint = ^Fingerprint(1<<hostedBits - 1)
)

// AllowsServerRequests reports whether the capabilities allow a server to send requests to its
// client.
func (f Fingerprint) AllowsServerRequests() bool { return f != f.WithoutServerRequests() }

// WithoutServerRequests is f without the capabilities that allow a server to send requests to its
// client.
func (f Fingerprint) WithoutServerRequests() Fingerprint {
	return f & (CanUI | CanTasks | OtherExtensions)
}

var fingerprints = []struct {
	bit  Fingerprint
	path string
	word string // for IDs
}{
	{CanRoots, "roots", "roots"},
	{CanSample, "sampling", "sampling"},
	{CanSampleTools, "sampling.tools", "sampling-tools"},
	{CanSampleContext, "sampling.context", "sampling-context"},
	{CanElicitForm, "elicitation.form", "elicitation-form"},
	{CanElicitURL, "elicitation.url", "elicitation-url"},
	{CanUI, "extensions." + ExtensionUI, "ui"},
	{CanTasks, "extensions." + ExtensionTasks, "tasks"},
}

// Fingerprint returns the fingerprint of the declared capabilities. Equal declarations have equal
// fingerprints.
func (c ClientCapabilities) Fingerprint() (f Fingerprint) {
	if len(c.raw) <= len("{}") {
		return 0
	}
	for _, row := range fingerprints {
		if c.Has(row.path) {
			f |= row.bit
		}
	}
	return f | c.otherExtensions()
}

// ID names the capabilities with letters, digits, dashes and dots. Distinct fingerprints have
// distinct IDs. Extensions that mcpd does not know are "other-" and their digest.
func (f Fingerprint) ID() string {
	var words []string
	for _, row := range fingerprints {
		if f&row.bit != 0 {
			words = append(words, row.word)
		}
	}
	if other := f & OtherExtensions; other != 0 {
		words = append(words, fmt.Sprintf("other-%x", uint64(other>>hostedBits)))
	}
	return strings.Join(words, ".")
}

// String lists the capabilities, separated by commas; "none" for an empty fingerprint.
func (f Fingerprint) String() string {
	text := ""
	for _, row := range fingerprints {
		if f&row.bit != 0 {
			text += "," + row.path
		}
	}
	if f&OtherExtensions != 0 {
		text += ",other extensions"
	}
	if text == "" {
		return "none"
	}
	return text[1:]
}
