package catalog

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol"
)

// Capabilities is what many servers as one declare: what any of them does. complete says that all of them are known; until then
// everything is declared that the host can answer for, because a server that is still starting may have it and a client that was told
// otherwise never asks. The lists of many are the host's own: it announces that they change, because one of the servers came, went or
// started anew, whether that declares it or not. What cannot be answered for many together is not declared.
func Capabilities(known []protocol.ServerCapabilities, complete bool) protocol.ServerCapabilities {
	within := make([]protocol.ServerCapabilities, 0, len(known))
	for _, each := range known {
		within = append(within, each.Within(MaxCapabilities))
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

// Lists are the capabilities of the lists that have items. A server may list what it has not
// declared.
func (c *Catalog) Lists() (all protocol.ServerCapabilities) {
	for _, k := range Kinds() {
		if c.lists[k].size > 0 {
			all = all.With(k.Capability(), jsontext.Value("{}"))
		}
	}
	return all
}

// MaxCapabilities bounds what one server may add, in bytes. Of larger ones the standard capabilities
// are declared, without their settings.
const MaxCapabilities = 256 << 10

// Instruction is what one server wants the model to know.
type Instruction struct{ Server, Text string }

// MaxInstructions bounds what one server may add, in bytes: it is read by a model each time, and no server has a claim to more.
const MaxInstructions = 16 << 10

// Instructions joins instructions under a heading for each server. Servers without any are left out.
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
