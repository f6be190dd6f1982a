package experiment

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"mcpd/gateway/config/document"
	"mcpd/gateway/config/units"
)

// key is a key of a mapping that fills in a T, with all that the parser and the documentation need.
type key[T any] struct {
	name string
	kind kind[T]
	def  string // as written in a file; empty = none
	doc  string
}

// kind describes the value of a key. A single text has set; any other value has read.
type kind[T any] struct {
	want  string // for the documentation
	form  form
	set   func(t *T, text string) *mistake
	fill  func(t *T) // sets the defaults of the keys below
	read  func(r *reader, t *T, path string, y ast.Node)
	below func(prefix string) []Row // the keys below, for the documentation
}

// form is how a text is written.
type form uint8

const (
	quoted form = iota // as a text
	plain              // as a number
	loose              // either way
)

// mistake says why a value is refused and what to do about it.
type mistake struct{ reason, do string }

func line[T any](low, high int, at func(*T) *string) kind[T] {
	return kind[T]{want: fmt.Sprintf("text, %d to %d bytes", low, high),
		set: func(t *T, text string) *mistake {
			if text = strings.Join(strings.Fields(text), " "); len(text) < low || len(text) > high {
				return &mistake{
					fmt.Sprintf("it has %d bytes", len(text)), fmt.Sprintf("write %d to %d", low, high),
				}
			}
			*at(t) = text
			return nil
		}}
}

func like[T any](want, pattern, do string, at func(*T) *string) kind[T] {
	expr := regexp.MustCompile("^(?:" + pattern + ")$")
	return kind[T]{want: want, set: func(t *T, text string) *mistake {
		if !expr.MatchString(text) {
			return &mistake{"it is no " + want, do}
		}
		*at(t) = text
		return nil
	}}
}

func oneOf[T any](at func(*T) *string, words ...string) kind[T] {
	return kind[T]{want: strings.Join(words, " | "), set: func(t *T, text string) *mistake {
		if !slices.Contains(words, text) {
			return notAWord(text, words)
		}
		*at(t) = text
		return nil
	}}
}

func notAWord(word string, words []string) *mistake {
	return &mistake{
		"it is none of " + strings.Join(words, ", "),
		document.DidYouMean(word, words, "write one of them"),
	}
}

func boolean[T any](at func(*T) *bool) kind[T] {
	return kind[T]{want: "true | false", form: loose, set: func(t *T, text string) *mistake {
		if text != "true" && text != "false" {
			return &mistake{"it is neither true nor false", "write true or false"}
		}
		*at(t) = text == "true"
		return nil
	}}
}

func number[T any](low, high int, at func(*T) *int) kind[T] {
	return kind[T]{want: fmt.Sprintf("number, %d to %d", low, high), form: plain,
		set: func(t *T, text string) *mistake {
			n, err := strconv.Atoi(text)
			if err != nil || n < low || n > high {
				return &mistake{
					"it is not a whole number in the allowed range",
					fmt.Sprintf("write one between %d and %d", low, high),
				}
			}
			*at(t) = n
			return nil
		}}
}

// share is a percentage.
func share[T any](at func(*T) *float64) kind[T] {
	return kind[T]{want: "number, above 0, to 100", form: plain,
		set: func(t *T, text string) *mistake {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil || !(f > 0 && f <= 100) {
				return &mistake{"it is no part of a hundred", "write a number above 0, to 100"}
			}
			*at(t) = f
			return nil
		}}
}

func quantity[T any](at func(*T) *float64) kind[T] {
	return kind[T]{want: "number, above 0", form: plain, set: func(t *T, text string) *mistake {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil || !(f > 0) || math.IsInf(f, 0) {
			return &mistake{"it is no number above 0", "write what the figure may be at most"}
		}
		*at(t) = f
		return nil
	}}
}

func span[T any](low, high time.Duration, at func(*T) *time.Duration) kind[T] {
	want := fmt.Sprintf("%s to %s", units.FormatSpan(low), units.FormatSpan(high))
	return kind[T]{want: "time, " + want, form: loose, set: func(t *T, text string) *mistake {
		d, err := time.ParseDuration(text)
		if err != nil || d < low || d > high {
			return &mistake{
				"it is not a time in the allowed range", "write a number with ms, s, m or h, " + want,
			}
		}
		*at(t) = d
		return nil
	}}
}

func size[T any](low, high int64, at func(*T) *int64) kind[T] {
	want := fmt.Sprintf("%s to %s", units.FormatSize(low), units.FormatSize(high))
	return kind[T]{want: "size, " + want, form: loose, set: func(t *T, text string) *mistake {
		n, ok := units.ParseSize(text)
		if !ok || n < low || n > high {
			return &mistake{
				"it is not a size in the allowed range", "write a number with B, KiB, MiB or GiB, " + want,
			}
		}
		*at(t) = n
		return nil
	}}
}

// texts is a list of texts. The function set adds each item.
func texts[T any](want string, set func(t *T, text string) *mistake) kind[T] {
	return kind[T]{want: "list of " + want, read: func(r *reader, t *T, path string, y ast.Node) {
		for i, item := range r.items(y, path) {
			r.text(fmt.Sprintf("%s[%d]", path, i), item, quoted, func(text string) *mistake {
				return set(t, text)
			})
		}
	}}
}

// section is a mapping with keys of its own.
func section[T, S any](keys []key[S], at func(*T) *S) kind[T] {
	return kind[T]{
		fill:  func(t *T) { *at(t) = defaults(keys) },
		read:  func(r *reader, t *T, path string, y ast.Node) { mapping(r, at(t), path, keys, y) },
		below: func(prefix string) []Row { return rows(prefix+".", keys) },
	}
}

// list is a list of mappings. Each begins with its defaults.
func list[T, S any](keys []key[S], at func(*T) *[]S) kind[T] {
	return kind[T]{
		read: func(r *reader, t *T, path string, y ast.Node) {
			for i, item := range r.items(y, path) {
				s := defaults(keys)
				mapping(r, &s, fmt.Sprintf("%s[%d]", path, i), keys, item)
				*at(t) = append(*at(t), s)
			}
		},
		below: func(prefix string) []Row { return rows(prefix+"[].", keys) },
	}
}
