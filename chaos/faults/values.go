package faults

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcpd/gateway/config/units"
)

// Type is what the value of a parameter is.
type Type uint8

// Types.
const (
	Duration Type = iota // a time, as 1m30s
	Number               // a whole number
	Size                 // a number of bytes, as 4MiB
	Text
)

// Param is one thing that an experiment can say about a fault.
type Param struct {
	Name string
	Type Type
	// Default is the value, as written, of an experiment that does not say one. It may be empty only for a text.
	Default string
	// Low and High bound a value: nanoseconds, a number, or bytes. A text has so many bytes.
	Low, High int64
	// Words are what a text may be; nil is any.
	Words []string
	Is    string // what it means, as a clause
}

// Values are the parameters of one fault, defaults filled in.
type Values map[string]any

// Duration returns a time. The parameter must be one of the kind's.
func (v Values) Duration(name string) time.Duration { return value[time.Duration](v, name) }

// Number returns a number.
func (v Values) Number(name string) int { return value[int](v, name) }

// Size returns a number of bytes.
func (v Values) Size(name string) int64 { return value[int64](v, name) }

// Text returns a text.
func (v Values) Text(name string) string { return value[string](v, name) }

func value[T any](v Values, name string) T {
	t, ok := v[name].(T)
	if !ok {
		panic(fmt.Sprintf("faults: %q is a %T, not a %T", name, v[name], t)) // the kind reads what it does not declare
	}
	return t
}

// Defaults are a kind's parameters as they are when an experiment says none.
func (k Kind) Defaults() Values {
	values := Values{}
	for _, p := range k.Params {
		v, ok := p.Read(p.Default)
		if !ok {
			panic("faults: the default of " + k.Name + " " + p.Name + " is refused")
		}
		values[p.Name] = v
	}
	return values
}

// Read makes a value of a text. It is false when it is none of the parameter's type or is out of its range.
func (p Param) Read(text string) (value any, ok bool) {
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

// Want says what a value has to be, for messages and documents.
func (p Param) Want() string {
	switch p.Type {
	case Duration:
		return fmt.Sprintf("time, %s to %s", units.FormatSpan(time.Duration(p.Low)), units.FormatSpan(time.Duration(p.High)))
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

// Written are a fault's parameters as they are written in a file, in the order of the kind's, without texts that are empty.
func (k Kind) Written(v Values) (list []string) {
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
