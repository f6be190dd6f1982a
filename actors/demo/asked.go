package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/jsonedit"
	"mcpd/protocol/mrtr"
)

// This file has the questions of the tools to the client, and the use of the answers.

// form asks the user with a form. It omits the mode, because form is the default.
func form(key, message string, schema jsontext.Value) input {
	return input{key, mrtr.Elicitation, func(*call) object {
		return object{"message": message, "requestedSchema": schema}
	}}
}

// formOf is a form whose message contains an argument of the call.
func formOf(key, format, argument string, schema jsontext.Value) input {
	return input{key, mrtr.Elicitation, func(k *call) object {
		return object{"message": fmt.Sprintf(format, k.arg(argument)), "requestedSchema": schema}
	}}
}

// sampleTokens is the maximum length of sampled texts, as the fixtures require it.
const sampleTokens = 100

// sample asks the client's model.
func sample(key, prompt string, tokens int) input {
	return input{key, mrtr.Sampling, func(*call) object { return sampleParams(prompt, tokens) }}
}

// sampleOf asks the client's model an argument of the call.
func sampleOf(key, argument string) input {
	return input{key, mrtr.Sampling, func(k *call) object {
		return sampleParams(k.arg(argument), sampleTokens)
	}}
}

func sampleParams(prompt string, tokens int) object {
	return object{"messages": []object{user(textBlock(prompt))}, "maxTokens": tokens}
}

// listRoots asks for the client's roots.
func listRoots(key string) input {
	return input{key, mrtr.Roots, func(*call) object { return object{} }}
}

// sampledText is the text that the model answered.
func (k *call) sampledText(key string) string {
	for _, block := range blocks(k.answers[key]) {
		if t, ok := jsonedit.GetString(block, "text"); ok {
			return t
		}
	}
	return "(no text)"
}

// blocks are the content blocks of a sampling result: one block, or since 2025-11-25 an array.
func blocks(result jsontext.Value) []jsontext.Value {
	content, _ := jsonedit.Get(result, "content")
	if content.Kind() == '[' {
		return slices.Collect(jsonedit.Elements(content))
	}
	return []jsontext.Value{content}
}

// formValue is the value that the user entered into a field of a form, or else the action that the
// user chose.
func (k *call) formValue(key, field string) string {
	if value, ok := jsonedit.Get(k.answers[key], "content", field); ok {
		if text, ok := jsonedit.Unquote(value); ok {
			return text
		}
		return string(value)
	}
	action, _ := jsonedit.GetString(k.answers[key], "action")
	return "(" + action + ")"
}

// elicited answers with the user's action and input, after a heading.
func elicited(heading, key string) answer {
	return func(k *call) object {
		action, _ := jsonedit.GetString(k.answers[key], "action")
		content, ok := jsonedit.Get(k.answers[key], "content")
		if !ok {
			content = jsontext.Value("{}")
		}
		return text(fmt.Sprintf("%s: action=%s, content=%s", heading, action, content))
	}
}

// listed is the list of roots as a text.
func (k *call) listed(key string) string {
	list, _ := jsonedit.Get(k.answers[key], "roots")
	var uris []string
	for root := range jsonedit.Elements(list) {
		uri, _ := jsonedit.GetString(root, "uri")
		uris = append(uris, uri)
	}
	return strings.Join(uris, ", ")
}

// formatted answers with a text. Each function in known gives the value of one verb in format.
func formatted(format string, known ...func(k *call) string) answer {
	return func(k *call) object {
		values := make([]any, len(known))
		for i, f := range known {
			values[i] = f(k)
		}
		return text(fmt.Sprintf(format, values...))
	}
}

func arg(name string) func(k *call) string { return func(k *call) string { return k.arg(name) } }
func said(key string) func(k *call) string {
	return func(k *call) string { return k.sampledText(key) }
}
func entered(key, field string) func(k *call) string {
	return func(k *call) string { return k.formValue(key, field) }
}
func rootsOf(key string) func(k *call) string {
	return func(k *call) string { return k.listed(key) }
}
