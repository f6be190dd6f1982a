package demo

import (
	"fmt"
	"slices"
)

// prompt is a row of the table of prompts.
type prompt struct {
	name, title, description string
	args                     []argument
	inputs                   []input // needed from the client
	dynamic                  bool    // listed only between one test_trigger_prompt_change and the next
	messages                 func(k *call) []object
}

// argument is an argument of a prompt. All are required.
type argument struct {
	name, description string
	values            []string // proposals of completion/complete
}

// prompts are the prompts in the order of prompts/list: the fixtures of the official conformance
// suite.
var prompts = []prompt{
	{name: "test_simple_prompt", title: "Simple prompt", description: "A prompt without arguments.",
		messages: func(*call) []object {
			return []object{user(textBlock("This is a simple prompt for testing."))}
		}},
	{name: "test_prompt_with_arguments", title: "Prompt with arguments",
		description: "A prompt that repeats its two arguments.",
		args: []argument{
			{"arg1", "The first argument.", []string{"paris", "park", "party"}},
			{"arg2", "The second argument.", []string{"one", "two"}},
		},
		messages: func(k *call) []object {
			return []object{
				user(textBlock(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", k.arg("arg1"),
					k.arg("arg2")))),
			}
		}},
	{name: "test_prompt_with_embedded_resource", title: "Prompt with a resource",
		description: "A prompt that shows the resource it is given.",
		args: []argument{
			{"resourceUri", "The URI of the resource.", []string{"test://static-text", watchedURI}},
		},
		messages: func(k *call) []object {
			return []object{
				user(resourceBlock(k.arg("resourceUri"), "text/plain",
					"Embedded resource content for testing.")),
				user(textBlock("Please process the embedded resource above.")),
			}
		}},
	{name: "test_prompt_with_image", title: "Prompt with an image",
		description: "A prompt that shows an image.",
		messages: func(*call) []object {
			return []object{user(imageBlock()), user(textBlock("Please analyze the image above."))}
		}},
	{name: "test_input_required_result_prompt", title: "Prompt with input",
		description: "A prompt that asks the user for its context.",
		inputs:      []input{form("user_context", "What context should the prompt use?", contextForm)},
		messages: func(k *call) []object {
			return []object{user(textBlock("The context is: " + k.formValue("user_context", "context")))}
		}},
	{name: "test_changing_prompt", title: "Changing prompt",
		description: "A prompt that comes and goes.", dynamic: true,
		messages: func(*call) []object { return []object{user(textBlock("This prompt will go."))} }},
}

func user(block object) object { return object{"role": "user", "content": block} }

func (p prompt) listed(bool) object {
	o := object{"name": p.name, "title": p.title, "description": p.description}
	if len(p.args) > 0 {
		args := make([]object, len(p.args))
		for i, a := range p.args {
			args[i] = object{"name": a.name, "description": a.description, "required": true}
		}
		o["arguments"] = args
	}
	return o
}

func (p prompt) changing() bool { return p.dynamic }

// steps are the steps of prompts/get.
func (p prompt) steps() []step {
	messages := answer(func(k *call) object {
		return object{"description": p.description, "messages": p.messages(k)}
	})
	return []step{ask{inputs: p.inputs}, messages}
}

// findPrompt finds a row by name, unless it is absent at the moment.
func (c *core) findPrompt(name string) (prompt, bool) {
	i := slices.IndexFunc(prompts, func(p prompt) bool {
		return p.name == name && (!p.dynamic || c.changed["prompts"])
	})
	if i < 0 {
		return prompt{}, false
	}
	return prompts[i], true
}
