package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpd/gateway/config/units"
)

// Type is the type of a parameter's value.
type Type uint8

// The types of parameters.
const (
	Duration Type = iota // a time, as 1m30s
	Number               // a whole number
	Size                 // a number of bytes, as 4MiB
	Text
)

// Param is one setting of a fault that an experiment can give.
type Param struct {
	Name string
	Type Type
	// Default is the value, in its written form, if an experiment gives none. It may be empty only for
	// a text.
	Default string
	// Low and High bound a value: nanoseconds, a number, or bytes. For a text they bound its length in
	// bytes.
	Low, High int64
	// Words are the allowed texts; nil allows any.
	Words       []string
	Description string // its meaning, as a clause
}

// Values are the parameters of one fault, with defaults filled in.
type Values map[string]any

// Duration returns the value of a Duration parameter. It panics if the kind does not declare it.
func (v Values) Duration(name string) time.Duration { return value[time.Duration](v, name) }

// Number returns the value of a Number parameter. It panics if the kind does not declare it.
func (v Values) Number(name string) int { return value[int](v, name) }

// Size returns the value of a Size parameter, in bytes. It panics if the kind does not declare it.
func (v Values) Size(name string) int64 { return value[int64](v, name) }

// Text returns the value of a Text parameter. It panics if the kind does not declare it.
func (v Values) Text(name string) string { return value[string](v, name) }

func value[T any](v Values, name string) T {
	t, ok := v[name].(T)
	if !ok {
		// the kind reads a parameter that it does not declare
		panic(fmt.Sprintf("faults: %q is a %T, not a %T", name, v[name], t))
	}
	return t
}

// Defaults returns the default values of a kind's parameters.
func (k Kind) Defaults() Values {
	values := Values{}
	for _, p := range k.Params {
		v, ok := p.Parse(p.Default)
		if !ok {
			panic("faults: the default of " + k.Name + " " + p.Name + " is refused")
		}
		values[p.Name] = v
	}
	return values
}

// Parse parses a text. It returns false if the text is not of the parameter's type or is out of its
// range.
func (p Param) Parse(text string) (value any, ok bool) {
	var n int64
	switch p.Type {
	case Duration:
		d, err := time.ParseDuration(text)
		n, value, ok = int64(d), d, err == nil
	case Number:
		i, err := strconv.Atoi(text)
		n, value, ok = int64(i), i, err == nil
	case Size:
		n, ok = units.ParseSize(text)
		value = n
	case Text:
		n, value, ok = int64(len(text)), text, p.Words == nil || slices.Contains(p.Words, text)
		if p.Words != nil {
			return value, ok
		}
	}
	return value, ok && n >= p.Low && n <= p.High
}

// Want describes the allowed values, for messages and documents.
func (p Param) Want() string {
	switch p.Type {
	case Duration:
		return fmt.Sprintf("time, %s to %s", units.FormatSpan(time.Duration(p.Low)),
			units.FormatSpan(time.Duration(p.High)))
	case Number:
		return fmt.Sprintf("number, %d to %d", p.Low, p.High)
	case Size:
		return fmt.Sprintf("size, %s to %s", units.FormatSize(p.Low), units.FormatSize(p.High))
	}
	if p.Words != nil {
		return strings.Join(p.Words, " | ")
	}
	return fmt.Sprintf("text, %d to %d bytes", p.Low, p.High)
}

// FormatParams returns a fault's parameters in the written form of an experiment file, in the order
// in which the kind declares them. It omits empty texts.
func (k Kind) FormatParams(v Values) (list []string) {
	for _, p := range k.Params {
		text := fmt.Sprint(v[p.Name])
		switch p.Type {
		case Duration:
			text = units.FormatSpan(v.Duration(p.Name))
		case Size:
			text = units.FormatSize(v.Size(p.Name))
		}
		if text != "" {
			list = append(list, p.Name+": "+text)
		}
	}
	return list
}
