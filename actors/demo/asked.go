package demo

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"mcpd/protocol/splice"
)

// What tools ask the client, and what they make of its answers.

// sampleTokens is the length of the text that test_sampling asks for, as its fixture has it.
const sampleTokens = 100

func samplingParams(k *call) object {
	return object{
		"messages":  []object{{"role": "user", "content": textBlock(k.arg("prompt"))}},
		"maxTokens": sampleTokens,
	}
}

// sampled answers with what the model said.
func sampled(k *call) object {
	if k.refused != nil {
		return failed(fmt.Sprintf("the client refused sampling/createMessage: %v", k.refused))
	}
	said := "(no text)"
	for _, block := range blocks(k.answered) {
		if t, ok := splice.GetString(block, "text"); ok {
			said = t
			break
		}
	}
	return text("LLM response: " + said)
}

// elicited answers with what the user did and entered, after a heading.
func elicited(heading string) func(k *call) object {
	return func(k *call) object {
		if k.refused != nil {
			return failed(fmt.Sprintf("the client refused elicitation/create: %v", k.refused))
		}
		action, _ := splice.GetString(k.answered, "action")
		entered, ok := splice.Get(k.answered, "content")
		if !ok {
			entered = jsontext.Value("{}")
		}
		return text(fmt.Sprintf("%s: action=%s, content=%s", heading, action, entered))
	}
}

// blocks are the content blocks of a sampling result: one, or since 2025-11-25 an array of them.
func blocks(result jsontext.Value) []jsontext.Value {
	content, _ := splice.Get(result, "content")
	if content.Kind() == '[' {
		return slices.Collect(splice.Elements(content))
	}
	return []jsontext.Value{content}
}
