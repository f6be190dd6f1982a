package demo

import "fmt"

// prompt is a row of the table of prompts.
type prompt struct {
	name, title, description string
	args                     []argument
	messages                 func(args map[string]string) []object
}

// argument is an argument of a prompt. All are required.
type argument struct {
	name, description string
	values            []string // what completion/complete proposes
}

// prompts is what prompts/list shows, in this order: the fixtures of the official conformance suite.
var prompts = []prompt{
	{"test_simple_prompt", "Simple prompt", "A prompt without arguments.", nil,
		func(map[string]string) []object {
			return []object{user(textBlock("This is a simple prompt for testing."))}
		}},
	{"test_prompt_with_arguments", "Prompt with arguments", "A prompt that repeats its two arguments.",
		[]argument{
			{"arg1", "The first argument.", []string{"paris", "park", "party"}},
			{"arg2", "The second argument.", []string{"one", "two"}},
		},
		func(args map[string]string) []object {
			return []object{user(textBlock(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", args["arg1"], args["arg2"])))}
		}},
	{"test_prompt_with_embedded_resource", "Prompt with a resource", "A prompt that shows the resource it is given.",
		[]argument{{"resourceUri", "The URI of the resource.", []string{"test://static-text", watchedURI}}},
		func(args map[string]string) []object {
			return []object{
				user(resourceBlock(args["resourceUri"], "text/plain", "Embedded resource content for testing.")),
				user(textBlock("Please process the embedded resource above.")),
			}
		}},
	{"test_prompt_with_image", "Prompt with an image", "A prompt that shows an image.", nil,
		func(map[string]string) []object {
			return []object{user(imageBlock()), user(textBlock("Please analyze the image above."))}
		}},
}

func user(block object) object { return object{"role": "user", "content": block} }

func (p prompt) listed() object {
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

func findPrompt(name string) (prompt, bool) {
	for _, p := range prompts {
		if p.name == name {
			return p, true
		}
	}
	return prompt{}, false
}
