package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Schema returns the JSON Schema (2020-12) of a configuration, for editors. It is laxer than Load
// for rules that involve several keys.
func Schema() []byte {
	var b strings.Builder
	b.WriteString(`{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"mcpd configuration",`)
	b.WriteString(strings.TrimPrefix(shape().schema(), "{"))
	v := jsontext.Value(b.String())
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		panic("config: the schema is no JSON: " + err.Error())
	}
	return append(v, '\n')
}

func (n *node) schema() string {
	switch {
	case n.key != nil:
		return n.key.schema()
	case n.item != nil:
		return `{"type":["array","null"],"items":` + n.item.schema() + `}`
	case n.each != nil:
		names, doc := "", ""
		if p := n.each.place; p != nil {
			names, doc = p.names, p.doc
		}
		if names == "" {
			names = "^"
		}
		return fmt.Sprintf(`{"type":["object","null"],"description":%s,"patternProperties":{%s:%s},"additionalProperties":false}`,
			quote(doc), quote(names), n.each.schema())
	}
	var children, rules []string
	for _, child := range n.children {
		children = append(children, quote(child.name)+":"+child.schema())
	}
	for _, r := range renamedKeys {
		if child := n.find(r.now); child != nil {
			children = append(children, quote(r.old)+":"+strings.TrimSuffix(child.key.Type.schema, "}")+
				`,"description":`+quote("earlier name of "+r.now+r.hint)+`,"deprecated":true}`)
		}
	}
	kind := `["object","null"]`
	if p := n.place; p != nil {
		ways := slices.Clone(p.oneOf)
		if p.foreign() {
			for _, key := range sortedKeys(aliases) {
				children, ways = append(children,
					quote(key)+":"+n.find(aliases[key]).schema()), append(ways, key)
			}
			for _, key := range slices.Concat(sortedKeys(disablingKeys), ignoredKeys) {
				children = append(children, quote(key)+`:{"description":"of other clients"}`)
			}
		}
		if len(p.require) > 0 {
			kind = `"object"`
			rules = append(rules, `"required":["`+strings.Join(p.require, `","`)+`"]`)
		}
		if len(ways) > 0 {
			kind = `"object"`
			rules = append(rules, `"oneOf":[{"required":["`+strings.Join(ways, `"]},{"required":["`)+`"]}]`)
		}
	}
	rules = append(rules, `"properties":{`+strings.Join(children, ",")+`}`,
		`"additionalProperties":false`)
	return `{"type":` + kind + `,` + strings.Join(rules, ",") + `}`
}

func (k *Key) schema() string {
	s := k.Type.schema
	switch k.Type.form {
	case list:
		items := `{"type":"array","items":` + s + `}`
		if k.Type.single {
			s = `{"anyOf":[` + s + `,` + items + `]}`
			break
		}
		s = items
	case dict:
		s = `{"type":["object","null"],"additionalProperties":` + s + `}`
	}
	s = strings.TrimSuffix(s, "}")
	s += `,"description":` + quote(k.Doc)
	if k.Default != "" {
		value := k.Default
		if !k.Type.number {
			value = quote(value)
		}
		s += `,"default":` + value
	}
	return s + "}"
}

func quote(s string) string {
	b, err := jsontext.AppendQuote(nil, s)
	if err != nil {
		panic("config: no UTF-8: " + err.Error())
	}
	return string(b)
}
