package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"mcpd/gateway/config/units"
	"mcpd/gateway/tenant"
	"mcpd/protocol"
)

// form is the shape of a value in the file.
type form uint8

const (
	scalar form = iota // one text or number
	list               // a list of texts
	dict               // texts by name
)

// Type describes the allowed values of a key.
type Type struct {
	Name string // for the documentation

	form             form
	single           bool   // a list with one item may be written as the item
	acceptsScalars   bool   // numbers and booleans are accepted as they are written
	number           bool   // only numbers are accepted
	expandsVariables bool   // variables are expanded
	secret           bool   // messages never repeat the value
	schema           string // JSON Schema of a scalar, or of each item
	// put stores one scalar or item; dst points to the field.
	put func(dst any, v value) *mistake
}

// value is one text of the file that is about to be stored in a field.
type value struct {
	name  string   // the key in a dict
	text  string   // with variables expanded
	shown string   // as written
	vars  []string // the variables in it
}

// mistake says why a value is refused and what to do. Neither text repeats a value that may be
// secret.
type mistake struct{ reason, do string }

const anyText = `{"type":"string"}`

var (
	address = Type{Name: "host:port", schema: anyText, put: putAddress}
	listen  = Type{
		Name: "host:port | unix:/path, or a list of them", form: list, single: true, schema: anyText,
		put: putListen,
	}
	basePath = Type{
		Name: "path", schema: `{"type":"string","pattern":"^(/[A-Za-z0-9._~-]+)+$"}`, put: putBasePath,
	}
	fileMode = Type{
		Name: "three octal digits", acceptsScalars: true, schema: `{"type":["string","integer"]}`,
		put: putFileMode,
	}
	owner = Type{
		Name: "user | user:group | :group", acceptsScalars: true, schema: `{"type":["string","integer"]}`,
		put: putOwner,
	}
	file     = Type{Name: "absolute path", schema: anyText, put: putFile}
	hosts    = Type{Name: "list of host names", form: list, schema: anyText, put: putHost}
	origins  = Type{Name: "list of origins", form: list, schema: anyText, put: putOrigin}
	prefixes = Type{Name: "list of addresses or prefixes", form: list, schema: anyText, put: putPrefix}
	revision = Type{
		Name: "protocol revision", schema: enum(protocol.GetSupportedVersions()), put: putRevision,
	}
	boolean = Type{
		Name: "true | false", acceptsScalars: true, schema: `{"type":"boolean"}`, put: putFlag,
	}
	need  = Type{Name: "capability[@version] | none", schema: anyText, put: putRequirement}
	needs = Type{Name: "method: capability", form: dict, schema: anyText, put: putNeed}

	keyName = Type{Name: "name", schema: anyText, put: putKeyName}
	hash    = Type{
		Name: "64 hexadecimal digits", secret: true,
		schema: `{"type":"string","pattern":"^[0-9a-fA-F]{64}$"}`, put: putHash,
	}

	command = Type{Name: "program", expandsVariables: true, schema: anyText, put: putCommand}
	args    = Type{
		Name: "list of texts", form: list, acceptsScalars: true, expandsVariables: true, secret: true,
		schema: looseText,
		put:    putArg,
	}
	env = Type{
		Name: "variable: text", form: dict, acceptsScalars: true, expandsVariables: true, secret: true,
		schema: looseText,
		put:    putEnv,
	}
	envNames = Type{
		Name: "list of variables", form: list, secret: true, schema: anyText, put: putEnvName,
	}
	cwd  = Type{Name: "absolute path", expandsVariables: true, schema: anyText, put: putCwd}
	link = Type{
		Name: "http or https URL", expandsVariables: true, secret: true, schema: anyText, put: putURL,
	}
	proxy = Type{
		Name: "direct | http, https, socks5 or socks5h URL", expandsVariables: true, secret: true,
		schema: anyText,
		put:    putProxy,
	}
	headers = Type{
		Name: "header: text", form: dict, expandsVariables: true, secret: true, schema: anyText,
		put: putHeader,
	}
	builtin = Type{Name: "name", schema: anyText, put: putWord(nil)}
	share   = Type{Name: words(tenant.Shares), schema: enum(tenant.Shares), put: putShare}
	mode    = Type{Name: words(modes), schema: enum(modes), put: putMode}
)

// modes are the words for protocol.Mode, by value.
var modes = []string{protocol.Spec: "spec", protocol.Strict: "strict"}

const looseText = `{"type":["string","number","boolean"]}`

// oneOf is the type of a word from a list.
func oneOf(choice ...string) Type {
	return Type{Name: words(choice), schema: enum(choice), put: putWord(choice)}
}

// count is the type of an integer between low and high.
func count(low, high int) Type {
	return Type{
		Name: fmt.Sprintf("number, %d to %d", low, high), acceptsScalars: true, number: true,
		schema: fmt.Sprintf(`{"type":"integer","minimum":%d,"maximum":%d}`, low, high),
		put: func(dst any, v value) *mistake {
			n, err := strconv.Atoi(v.text)
			if err != nil || n < low || n > high {
				return &mistake{
					"it is not a whole number in the allowed range",
					fmt.Sprintf("write one between %d and %d", low, high),
				}
			}
			*dst.(*int) = n
			return nil
		},
	}
}

// size is the type of a number of bytes between low and high.
func size(low, high int64) Type {
	return Type{
		Name:           fmt.Sprintf("size, %s to %s", units.FormatSize(low), units.FormatSize(high)),
		acceptsScalars: true,
		schema:         `{"type":"string","pattern":"^[0-9]+(B|KiB|MiB|GiB)$"}`,
		put: func(dst any, v value) *mistake {
			if n, ok := units.ParseSize(v.text); ok && n >= low && n <= high {
				*dst.(*int64) = n
				return nil
			}
			return &mistake{
				"it is not a size in the allowed range",
				fmt.Sprintf("write a number with B, KiB or MiB between %s and %s", units.FormatSize(low),
					units.FormatSize(high)),
			}
		},
	}
}

// span is the type of a duration between low and high.
func span(low, high time.Duration) Type {
	return Type{
		Name:           fmt.Sprintf("time, %s to %s", units.FormatSpan(low), units.FormatSpan(high)),
		acceptsScalars: true,
		schema:         `{"type":"string","pattern":"^([0-9]+([.][0-9]+)?(ms|s|m|h))+$"}`,
		put: func(dst any, v value) *mistake {
			d, err := time.ParseDuration(v.text)
			if err != nil || d < low || d > high {
				return &mistake{
					"it is not a time in the allowed range",
					fmt.Sprintf("write a number with ms, s, m or h between %s and %s", units.FormatSpan(low),
						units.FormatSpan(high)),
				}
			}
			*dst.(*time.Duration) = d
			return nil
		},
	}
}

// words joins the choices for the documentation.
func words(choice []string) string { return strings.Join(choice, " | ") }

func enum(choice []string) string {
	return `{"enum":["` + strings.Join(choice, `","`) + `"]}`
}
