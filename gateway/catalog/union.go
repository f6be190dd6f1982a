package catalog

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// Capabilities returns the capabilities of many servers presented as one: the union of theirs.
// complete says that the capabilities of all servers are known. Until then the result declares
// everything that the host can answer, because a server that is still starting may have it, and a
// client that is told otherwise never asks. The host itself owns the merged lists. It announces
// their changes when a server comes, goes or restarts, whether the servers declare listChanged or
// not. A capability that cannot be served for many servers together is not declared.
func Capabilities(known []protocol.ServerCapabilities, complete bool) protocol.ServerCapabilities {
	within := make([]protocol.ServerCapabilities, 0, len(known))
	for _, each := range known {
		within = append(within, each.Limit(MaxCapabilities))
	}
	all := protocol.ServerCapabilities{}.Union(within...).Merged()
	for _, list := range []string{"tools", "prompts", "resources"} {
		if all.Has(list) || !complete {
			all = all.With(list+".listChanged", jsontext.Value("true"))
		}
	}
	if !complete {
		all = all.With("resources.subscribe", jsontext.Value("true"))
		for _, each := range []string{"completions", "logging"} {
			if !all.Has(each) {
				all = all.With(each, jsontext.Value("{}"))
			}
		}
		if page := "extensions." + protocol.ExtensionUI; !all.Has(page) {
			all = all.With(page, jsontext.Value("{}"))
		}
	}
	return all
}

// Lists returns the capabilities for the lists that have items, because a server may list items
// without declaring the capability.
func (c *Catalog) Lists() (all protocol.ServerCapabilities) {
	for _, k := range Kinds() {
		if c.lists[k].size > 0 {
			all = all.With(k.Capability(), jsontext.Value("{}"))
		}
	}
	return all
}

// MaxCapabilities bounds the capabilities of one server in the union, in bytes. Of larger ones
// only the standard capabilities are declared, without their settings.
const MaxCapabilities = 256 << 10

// Instruction is the text that one server wants the model to know.
type Instruction struct{ Server, Text string }

// MaxInstructions bounds the instructions of one server, in bytes. A model reads them each time,
// and no server may claim more of its attention.
const MaxInstructions = 16 << 10

// Instructions joins instructions under a heading for each server. Servers without instructions
// are left out.
func Instructions(all []Instruction) string {
	var b strings.Builder
	for _, i := range all {
		text := strings.TrimSpace(i.Text)
		if text == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n\n")
		}
		b.WriteString("# " + i.Server + "\n\n" + Ellipsis(text, MaxInstructions))
	}
	return b.String()
}
