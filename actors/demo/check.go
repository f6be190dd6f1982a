package demo

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
)

// checkParams checks that the required parameters are present and have the right types. Additional
// members are allowed, as the schema allows them.
func checkParams(args jsontext.Value, params []param) string {
	for _, p := range params {
		value, given := jsonedit.Get(args, p.name)
		switch {
		case given:
			if wrong := p.check(value); wrong != "" {
				return wrong
			}
		case !p.optional:
			return fmt.Sprintf("%q is missing", p.name)
		}
	}
	return ""
}

func (p param) check(value jsontext.Value) string {
	switch p.kind {
	case integer:
		if n, ok := number(value); !ok || n < 0 || n > p.max {
			return fmt.Sprintf("%q is not an integer from 0 to %d", p.name, p.max)
		}
	case boolean:
		if value.Kind() != 't' && value.Kind() != 'f' {
			return fmt.Sprintf("%q is a %s, want a boolean", p.name, kindOf(value))
		}
	default:
		if value.Kind() != '"' {
			return fmt.Sprintf("%q is a %s, want a string", p.name, kindOf(value))
		}
	}
	return ""
}

// number reads an integer in any form that JSON allows, such as 1.0 and 1e2.
func number(value jsontext.Value) (int, bool) {
	if value.Kind() != '0' {
		return 0, false
	}
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
		return 0, false
	}
	return int(n), true
}

// checkContact checks the arguments of json_schema_2020_12_tool, as its schema does.
func checkContact(args jsontext.Value) string {
	allowed := []string{"address", "contactMethod", "email", "name", "phone"}
	for m := range jsonedit.Members(args) {
		if !slices.Contains(allowed, m.Key()) {
			return fmt.Sprintf("%q is not known, want any of %s", m.Key(), strings.Join(allowed, ", "))
		}
	}
	optional := func(names ...string) []param {
		params := make([]param, len(names))
		for i, name := range names {
			params[i] = param{name: name, optional: true}
		}
		return params
	}
	if wrong := checkParams(args, optional("name", "contactMethod", "phone", "email")); wrong != "" {
		return wrong
	}
	if address, given := jsonedit.Get(args, "address"); given {
		if address.Kind() != '{' {
			return fmt.Sprintf(`"address" is a %s, want an object`, kindOf(address))
		}
		if wrong := checkParams(address, optional("street", "city")); wrong != "" {
			return "in address, " + wrong
		}
	}
	needed := "email"
	if method, given := jsonedit.GetString(args, "contactMethod"); given {
		switch method {
		case "phone":
			needed = "phone"
		case "email":
		default:
			return fmt.Sprintf(`"contactMethod" is %q, want "phone" or "email"`, method)
		}
	}
	if _, given := jsonedit.Get(args, needed); !given {
		return fmt.Sprintf("%q is missing", needed)
	}
	return ""
}
