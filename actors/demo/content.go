package demo

// The smallest valid files of their types: a red pixel, and a millisecond of silence.
const (
	pixelPNG   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC"
	silenceWAV = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA=="
)

// Content blocks of tool results and prompt messages (2025-11-25 §server/tools "Tool Result").

func textBlock(text string) object { return object{"type": "text", "text": text} }

func imageBlock() object {
	return object{"type": "image", "data": pixelPNG, "mimeType": "image/png"}
}

func audioBlock() object {
	return object{"type": "audio", "data": silenceWAV, "mimeType": "audio/wav"}
}

func resourceBlock(uri, mimeType, text string) object {
	return object{"type": "resource", "resource": textContents(uri, mimeType, text)}
}

// Contents of resources.

func textContents(uri, mimeType, text string) object {
	return object{"uri": uri, "mimeType": mimeType, "text": text}
}

func blobContents(uri, mimeType, base64 string) object {
	return object{"uri": uri, "mimeType": mimeType, "blob": base64}
}

// Results of tools.

func content(blocks ...object) object { return object{"content": blocks} }

func text(s string) object { return content(textBlock(s)) }

// failed is a result that reports the failure of a tool, which is not a protocol error (2025-11-25
// §server/tools "Error Handling").
func failed(reason string) object {
	return object{"content": []object{textBlock(reason)}, "isError": true}
}
