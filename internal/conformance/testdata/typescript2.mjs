// The server of github.com/modelcontextprotocol/typescript-sdk for the suite, which no package has:
// test/conformance/src/everythingServer.ts at 3924de99.
// Its authors license it under the MIT License and the Apache License 2.0, as LICENSE there says.
// Changed: esbuild has removed types and comments; it listens on a free port of loopback, which it
// prints, and ends with its standard input; clients are asked to come back to a closed stream after
// 500 ms instead of 5 s, which is as long as the suite waits for the rest.
import { randomUUID } from "node:crypto";
import { localhostHostValidation } from "@modelcontextprotocol/express";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import {
  acceptedContent,
  classifyInboundRequest,
  CLIENT_CAPABILITIES_META_KEY,
  createMcpHandler,
  createRequestStateCodec,
  fromJsonSchema,
  inputRequired,
  isInitializeRequest,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceTemplate
} from "@modelcontextprotocol/server";
import cors from "cors";
import express from "express";
import * as z from "zod/v4";
const resourceSubscriptions = /* @__PURE__ */ new Set();
const watchedResourceContent = "Watched resource content";
const transports = {};
const servers = {};
const eventStoreData = /* @__PURE__ */ new Map();
function createEventStore() {
  return {
    async storeEvent(streamId, message) {
      const eventId = `${streamId}::${String(Date.now()).padStart(15, "0")}_${randomUUID()}`;
      eventStoreData.set(eventId, { eventId, message, streamId });
      return eventId;
    },
    async replayEventsAfter(lastEventId, { send }) {
      const streamId = lastEventId.split("::")[0] || lastEventId;
      const eventsToReplay = [];
      for (const [eventId, data] of eventStoreData.entries()) {
        if (data.streamId === streamId && eventId > lastEventId) {
          eventsToReplay.push([eventId, data]);
        }
      }
      eventsToReplay.sort(([a], [b]) => a.localeCompare(b));
      for (const [eventId, { message }] of eventsToReplay) {
        if (message && typeof message === "object" && Object.keys(message).length > 0) {
          await send(eventId, message);
        }
      }
      return streamId;
    }
  };
}
const TEST_IMAGE_BASE64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX\
8jx0gAAAABJRU5ErkJggg==";
const TEST_AUDIO_BASE64 = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";
const requestStateCodec = createRequestStateCodec({
  key: crypto.getRandomValues(new Uint8Array(32))
});
function createMcpServer() {
  const mcpServer = new McpServer(
    {
      name: "mcp-conformance-test-server",
      version: "1.0.0"
    },
    {
      capabilities: {
        tools: {
          listChanged: true
        },
        resources: {
          subscribe: true,
          listChanged: true
        },
        prompts: {
          listChanged: true
        },
        // `logging` is deprecated as of protocol version 2026-07-28
        // (SEP-2577). Intentionally retained so the 2025-era
        // logging/setLevel conformance leg still negotiates the
        // capability; the 2026-07-28 path uses the per-request
        // envelope and ignores this field.
        logging: {},
        completions: {}
      },
      // Seam-level integrity check (SEP-2322): every re-entered MRTR
      // request that carries requestState is verified before the handler
      // runs. A rejection answers a wire-level -32602 with
      // data.reason 'invalid_request_state'.
      requestState: { verify: requestStateCodec.verify }
    }
  );
  function sendLog(level, message, data) {
    mcpServer.server.notification({
      method: "notifications/message",
      params: {
        level,
        logger: "conformance-test-server",
        data: data ?? message
      }
    }).catch(() => {
    });
  }
  mcpServer.registerTool(
    "test_x_mcp_header",
    {
      description: "Tests SEP-2243 Mcp-Param-* server-side validation",
      inputSchema: fromJsonSchema({
        type: "object",
        properties: {
          region: { type: "string", description: "mirrored into Mcp-Param-Region", "x-mcp-header": "\
Region" },
          level: { type: "integer", description: "non-mirrored argument" }
        }
      })
    },
    async (args) => ({
      content: [{ type: "text", text: `region=${args.region ?? "<none>"}` }]
    })
  );
  mcpServer.registerTool(
    "test_missing_capability",
    {
      description: "SEP-2575: requires the `sampling` client capability (drives the -32021 undeclare\
d-capability rejection)",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      if (ctx.mcpReq.inputResponses?.["llm_answer"] === void 0) {
        return inputRequired({
          inputRequests: {
            llm_answer: inputRequired.createMessage({
              messages: [{ role: "user", content: { type: "text", text: "Reply with the single word:\
 pong" } }],
              maxTokens: 16
            })
          }
        });
      }
      return { content: [{ type: "text", text: "sampling round-trip complete" }] };
    }
  );
  mcpServer.registerTool(
    "test_streaming_elicitation",
    {
      description: "SEP-2575: yields a response stream carrying no independent top-level JSON-RPC re\
quests",
      inputSchema: z.object({})
    },
    async () => ({
      content: [{ type: "text", text: "stream observed: result frames only, no top-level requests" }]
    })
  );
  mcpServer.registerTool(
    "test_logging_tool",
    {
      description: "SEP-2575: logs via ctx.mcpReq.log so the no-log-without-logLevel rule is exercis\
ed",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      await ctx.mcpReq.log("info", "test_logging_tool ran (delivered only when the request set _meta\
.logLevel)");
      return { content: [{ type: "text", text: "logged through the request-scoped, logLevel-gated ch\
annel" }] };
    }
  );
  mcpServer.registerTool(
    "test_simple_text",
    {
      description: "Tests simple text content response"
    },
    async () => {
      return {
        content: [{ type: "text", text: "This is a simple text response for testing." }]
      };
    }
  );
  mcpServer.registerTool(
    "test_image_content",
    {
      description: "Tests image content response"
    },
    async () => {
      return {
        content: [{ type: "image", data: TEST_IMAGE_BASE64, mimeType: "image/png" }]
      };
    }
  );
  mcpServer.registerTool(
    "test_audio_content",
    {
      description: "Tests audio content response"
    },
    async () => {
      return {
        content: [{ type: "audio", data: TEST_AUDIO_BASE64, mimeType: "audio/wav" }]
      };
    }
  );
  mcpServer.registerTool(
    "test_embedded_resource",
    {
      description: "Tests embedded resource content response"
    },
    async () => {
      return {
        content: [
          {
            type: "resource",
            resource: {
              uri: "test://embedded-resource",
              mimeType: "text/plain",
              text: "This is an embedded resource content."
            }
          }
        ]
      };
    }
  );
  mcpServer.registerTool(
    "test_multiple_content_types",
    {
      description: "Tests response with multiple content types (text, image, resource)"
    },
    async () => {
      return {
        content: [
          { type: "text", text: "Multiple content types test:" },
          { type: "image", data: TEST_IMAGE_BASE64, mimeType: "image/png" },
          {
            type: "resource",
            resource: {
              uri: "test://mixed-content-resource",
              mimeType: "application/json",
              text: JSON.stringify({ test: "data", value: 123 })
            }
          }
        ]
      };
    }
  );
  mcpServer.registerTool(
    "test_tool_with_logging",
    {
      description: "Tests tool that emits log messages during execution",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      await ctx.mcpReq.notify({
        method: "notifications/message",
        params: {
          level: "info",
          data: "Tool execution started"
        }
      });
      await new Promise((resolve) => setTimeout(resolve, 50));
      await ctx.mcpReq.notify({
        method: "notifications/message",
        params: {
          level: "info",
          data: "Tool processing data"
        }
      });
      await new Promise((resolve) => setTimeout(resolve, 50));
      await ctx.mcpReq.notify({
        method: "notifications/message",
        params: {
          level: "info",
          data: "Tool execution completed"
        }
      });
      return {
        content: [{ type: "text", text: "Tool with logging executed successfully" }]
      };
    }
  );
  mcpServer.registerTool(
    "test_tool_with_progress",
    {
      description: "Tests tool that reports progress notifications",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      const progressToken = ctx.mcpReq._meta?.progressToken;
      if (progressToken !== void 0) {
        for (const progress of [0, 50, 100]) {
          await ctx.mcpReq.notify({
            method: "notifications/progress",
            params: {
              progressToken,
              progress,
              total: 100,
              message: `Completed step ${progress} of ${100}`
            }
          });
          if (progress < 100) {
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
        }
      }
      return {
        content: [{ type: "text", text: String(progressToken ?? "no-progress-token") }]
      };
    }
  );
  mcpServer.registerTool(
    "test_error_handling",
    {
      description: "Tests error response handling"
    },
    async () => {
      throw new Error("This tool intentionally returns an error for testing");
    }
  );
  mcpServer.registerTool(
    "test_reconnection",
    {
      description: "Tests SSE stream disconnection and client reconnection (SEP-1699). Server will c\
lose the stream mid-call and send the result after client reconnects.",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      console.log(`[${ctx.sessionId}] Starting test_reconnection tool...`);
      const transport = ctx.sessionId ? transports[ctx.sessionId] : void 0;
      if (transport && ctx.mcpReq.id) {
        console.log(`[${ctx.sessionId}] Closing SSE stream to trigger client polling...`);
        transport.closeSSEStream(ctx.mcpReq.id);
      }
      await sleep(100);
      console.log(`[${ctx.sessionId}] test_reconnection tool complete`);
      return {
        content: [
          {
            type: "text",
            text: "Reconnection test completed successfully. If you received this, the client proper\
ly reconnected after stream closure."
          }
        ]
      };
    }
  );
  mcpServer.registerTool(
    "test_sampling",
    {
      description: "Tests server-initiated sampling (LLM completion request)",
      inputSchema: z.object({
        prompt: z.string().describe("The prompt to send to the LLM")
      })
    },
    async (args, ctx) => {
      try {
        const result = await ctx.mcpReq.send({
          method: "sampling/createMessage",
          params: {
            messages: [
              {
                role: "user",
                content: {
                  type: "text",
                  text: args.prompt
                }
              }
            ],
            maxTokens: 100
          }
        });
        const modelResponse = result.content?.text || result.message?.content?.text || "No response";
        return {
          content: [
            {
              type: "text",
              text: `LLM response: ${modelResponse}`
            }
          ]
        };
      } catch (error) {
        return {
          content: [
            {
              type: "text",
              text: `Sampling not supported or error: ${error instanceof Error ? error.message : String(
              error)}`
            }
          ]
        };
      }
    }
  );
  mcpServer.registerTool(
    "test_elicitation",
    {
      description: "Tests server-initiated elicitation (user input request)",
      inputSchema: z.object({
        message: z.string().describe("The message to show the user")
      })
    },
    async (args, ctx) => {
      try {
        const result = await ctx.mcpReq.send({
          method: "elicitation/create",
          params: {
            message: args.message,
            requestedSchema: {
              type: "object",
              properties: {
                response: {
                  type: "string",
                  description: "User's response"
                }
              },
              required: ["response"]
            }
          }
        });
        const elicitResult = result;
        return {
          content: [
            {
              type: "text",
              text: `User response: action=${elicitResult.action}, content=${JSON.stringify(elicitResult.
              content || {})}`
            }
          ]
        };
      } catch (error) {
        return {
          content: [
            {
              type: "text",
              text: `Elicitation not supported or error: ${error instanceof Error ? error.message : String(
              error)}`
            }
          ]
        };
      }
    }
  );
  mcpServer.registerTool(
    "test_elicitation_sep1034_defaults",
    {
      description: "Tests elicitation with default values per SEP-1034",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      try {
        const result = await ctx.mcpReq.send({
          method: "elicitation/create",
          params: {
            message: "Please review and update the form fields with defaults",
            requestedSchema: {
              type: "object",
              properties: {
                name: {
                  type: "string",
                  description: "User name",
                  default: "John Doe"
                },
                age: {
                  type: "integer",
                  description: "User age",
                  default: 30
                },
                score: {
                  type: "number",
                  description: "User score",
                  default: 95.5
                },
                status: {
                  type: "string",
                  description: "User status",
                  enum: ["active", "inactive", "pending"],
                  default: "active"
                },
                verified: {
                  type: "boolean",
                  description: "Verification status",
                  default: true
                }
              },
              required: []
            }
          }
        });
        const elicitResult = result;
        return {
          content: [
            {
              type: "text",
              text: `Elicitation completed: action=${elicitResult.action}, content=${JSON.stringify(
              elicitResult.content || {})}`
            }
          ]
        };
      } catch (error) {
        return {
          content: [
            {
              type: "text",
              text: `Elicitation not supported or error: ${error instanceof Error ? error.message : String(
              error)}`
            }
          ]
        };
      }
    }
  );
  mcpServer.registerTool(
    "test_elicitation_sep1330_enums",
    {
      description: "Tests elicitation with enum schema improvements per SEP-1330",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      try {
        const result = await ctx.mcpReq.send({
          method: "elicitation/create",
          params: {
            message: "Please select options from the enum fields",
            requestedSchema: {
              type: "object",
              properties: {
                // Untitled single-select enum (basic)
                untitledSingle: {
                  type: "string",
                  description: "Select one option",
                  enum: ["option1", "option2", "option3"]
                },
                // Titled single-select enum (using oneOf with const/title)
                titledSingle: {
                  type: "string",
                  description: "Select one option with titles",
                  oneOf: [
                    { const: "value1", title: "First Option" },
                    { const: "value2", title: "Second Option" },
                    { const: "value3", title: "Third Option" }
                  ]
                },
                // Legacy titled enum (using enumNames - deprecated)
                legacyEnum: {
                  type: "string",
                  description: "Select one option (legacy)",
                  enum: ["opt1", "opt2", "opt3"],
                  enumNames: ["Option One", "Option Two", "Option Three"]
                },
                // Untitled multi-select enum
                untitledMulti: {
                  type: "array",
                  description: "Select multiple options",
                  minItems: 1,
                  maxItems: 3,
                  items: {
                    type: "string",
                    enum: ["option1", "option2", "option3"]
                  }
                },
                // Titled multi-select enum (using anyOf with const/title)
                titledMulti: {
                  type: "array",
                  description: "Select multiple options with titles",
                  minItems: 1,
                  maxItems: 3,
                  items: {
                    anyOf: [
                      { const: "value1", title: "First Choice" },
                      { const: "value2", title: "Second Choice" },
                      { const: "value3", title: "Third Choice" }
                    ]
                  }
                }
              },
              required: []
            }
          }
        });
        const elicitResult = result;
        return {
          content: [
            {
              type: "text",
              text: `Elicitation completed: action=${elicitResult.action}, content=${JSON.stringify(
              elicitResult.content || {})}`
            }
          ]
        };
      } catch (error) {
        return {
          content: [
            {
              type: "text",
              text: `Elicitation not supported or error: ${error instanceof Error ? error.message : String(
              error)}`
            }
          ]
        };
      }
    }
  );
  mcpServer.registerTool(
    "json_schema_2020_12_tool",
    {
      description: "Tool with JSON Schema 2020-12 features for conformance testing (SEP-1613, SEP-21\
06)",
      inputSchema: fromJsonSchema({
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        $defs: {
          address: {
            $anchor: "addressDef",
            type: "object",
            properties: {
              street: { type: "string" },
              city: { type: "string" }
            }
          }
        },
        properties: {
          name: { type: "string" },
          address: { $ref: "#/$defs/address" },
          contactMethod: { type: "string", enum: ["phone", "email"] },
          phone: { type: "string" },
          email: { type: "string" }
        },
        allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
        if: {
          properties: { contactMethod: { const: "phone" } },
          required: ["contactMethod"]
        },
        // eslint-disable-next-line unicorn/no-thenable -- `then` is a JSON Schema 2020-12 keyword
        then: { required: ["phone"] },
        else: { required: ["email"] },
        additionalProperties: false
      })
    },
    async (args) => {
      return {
        content: [
          {
            type: "text",
            text: `JSON Schema 2020-12 tool called with: ${JSON.stringify(args)}`
          }
        ]
      };
    }
  );
  mcpServer.registerTool(
    "test_input_required_result_elicitation",
    {
      description: "MRTR (SEP-2322): asks for the caller name via an in-band elicitation request",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      const name = acceptedContent(ctx.mcpReq.inputResponses, "user_name")?.name;
      if (typeof name !== "string") {
        return inputRequired({
          inputRequests: {
            user_name: inputRequired.elicit({
              message: "What is your name?",
              requestedSchema: {
                type: "object",
                properties: { name: { type: "string" } },
                required: ["name"]
              }
            })
          }
        });
      }
      return { content: [{ type: "text", text: `Hello, ${name}!` }] };
    }
  );
  mcpServer.registerTool(
    "test_input_required_result_sampling",
    {
      description: "MRTR (SEP-2322): asks for an LLM completion via an in-band sampling request",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      const samplingResponse = ctx.mcpReq.inputResponses?.["capital_question"];
      if (samplingResponse === void 0) {
        return inputRequired({
          inputRequests: {
            capital_question: inputRequired.createMessage({
              messages: [{ role: "user", content: { type: "text", text: "What is the capital of Fran\
ce?" } }],
              maxTokens: 100
            })
          }
        });
      }
      const text = typeof samplingResponse.content?.text === "string" ? samplingResponse.content.text :
      JSON.stringify(samplingResponse);
      return { content: [{ type: "text", text: `Sampling response: ${text}` }] };
    }
  );
  mcpServer.registerTool(
    "test_input_required_result_list_roots",
    {
      description: "MRTR (SEP-2322): asks for the client roots via an in-band roots/list request",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      const rootsResponse = ctx.mcpReq.inputResponses?.["client_roots"];
      if (!Array.isArray(rootsResponse?.roots)) {
        return inputRequired({ inputRequests: { client_roots: inputRequired.listRoots() } });
      }
      const uris = rootsResponse.roots.map((root) => root.uri).join(", ");
      return { content: [{ type: "text", text: `Client exposed ${rootsResponse.roots.length} root(s)\
: ${uris}` }] };
    }
  );
  mcpServer.registerTool(
    "test_input_required_result_request_state",
    {
      description: "MRTR (SEP-2322): round-trips integrity-protected requestState alongside an elici\
tation request",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      const confirmation = acceptedContent(ctx.mcpReq.inputResponses, "confirm");
      if (confirmation === void 0) {
        return inputRequired({
          inputRequests: {
            confirm: inputRequired.elicit({
              message: "Please confirm",
              requestedSchema: {
                type: "object",
                properties: { ok: { type: "boolean" } },
                required: ["ok"]
              }
            })
          },
          requestState: await requestStateCodec.mint({ tool: "request_state", nonce: randomUUID() })
        });
      }
      const state = ctx.mcpReq.requestState();
      if (state === void 0) {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid requestState: missing or f\
ailed integrity verification");
      }
      return { content: [{ type: "text", text: "state-ok: requestState verified and confirmation rec\
eived" }] };
    }
  );
  mcpServer.registerTool(
    "test_input_required_result_multiple_inputs",
    {
      description: "MRTR (SEP-2322): asks for elicitation, sampling and roots input in a single roun\
d",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      const responses = ctx.mcpReq.inputResponses;
      const name = acceptedContent(responses, "user_name")?.name;
      const greeting = responses?.["greeting"]?.content?.text;
      const roots = responses?.["client_roots"]?.roots;
      if (typeof name !== "string" || typeof greeting !== "string" || !Array.isArray(roots)) {
        return inputRequired({
          inputRequests: {
            user_name: inputRequired.elicit({
              message: "What is your name?",
              requestedSchema: {
                type: "object",
                properties: { name: { type: "string" } },
                required: ["name"]
              }
            }),
            greeting: inputRequired.createMessage({
              messages: [{ role: "user", content: { type: "text", text: "Generate a greeting" } }],
              maxTokens: 50
            }),
            client_roots: inputRequired.listRoots()
          },
          requestState: await requestStateCodec.mint({ tool: "multiple_inputs", nonce: randomUUID() })
        });
      }
      return { content: [{ type: "text", text: `${greeting} ${name} \u2014 ${roots.length} root(s) v\
isible` }] };
    }
  );
  mcpServer.registerTool(
    "test_input_required_result_multi_round",
    {
      description: "MRTR (SEP-2322): two elicitation rounds with evolving requestState before comple\
ting",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      const state = ctx.mcpReq.requestState();
      const round = state?.tool === "multi_round" && typeof state.round === "number" ? state.round :
      0;
      if (round === 0) {
        return inputRequired({
          inputRequests: {
            step1: inputRequired.elicit({
              message: "Step 1: What is your name?",
              requestedSchema: {
                type: "object",
                properties: { name: { type: "string" } },
                required: ["name"]
              }
            })
          },
          requestState: await requestStateCodec.mint({ tool: "multi_round", round: 1, nonce: randomUUID() })
        });
      }
      if (round === 1) {
        const name = acceptedContent(ctx.mcpReq.inputResponses, "step1")?.name ?? "unknown";
        return inputRequired({
          inputRequests: {
            step2: inputRequired.elicit({
              message: "Step 2: What is your favorite color?",
              requestedSchema: {
                type: "object",
                properties: { color: { type: "string" } },
                required: ["color"]
              }
            })
          },
          requestState: await requestStateCodec.mint({ tool: "multi_round", round: 2, name, nonce: randomUUID() })
        });
      }
      const color = acceptedContent(ctx.mcpReq.inputResponses, "step2")?.color ?? "unknown";
      return { content: [{ type: "text", text: `Multi-round complete: ${String(state?.name ?? "unkno\
wn")} likes ${color}` }] };
    }
  );
  mcpServer.registerTool(
    "test_input_required_result_tampered_state",
    {
      description: "MRTR (SEP-2322): rejects retries whose requestState fails integrity verification",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      if (ctx.mcpReq.requestState() !== void 0 && acceptedContent(ctx.mcpReq.inputResponses, "confir\
m") !== void 0) {
        return { content: [{ type: "text", text: "integrity-ok: requestState verified" }] };
      }
      return inputRequired({
        inputRequests: {
          confirm: inputRequired.elicit({
            message: "Please confirm",
            requestedSchema: {
              type: "object",
              properties: { ok: { type: "boolean" } },
              required: ["ok"]
            }
          })
        },
        requestState: await requestStateCodec.mint({ tool: "tampered_state", nonce: randomUUID() })
      });
    }
  );
  mcpServer.registerTool(
    "test_input_required_result_capabilities",
    {
      description: "MRTR (SEP-2322): only requests input kinds the declared client capabilities cove\
r",
      inputSchema: z.object({})
    },
    async (_args, ctx) => {
      if (ctx.mcpReq.inputResponses !== void 0) {
        return { content: [{ type: "text", text: "Capability-aware input requests fulfilled" }] };
      }
      const declared = ctx.mcpReq.envelope?.[CLIENT_CAPABILITIES_META_KEY];
      const inputRequests = {};
      if (declared?.elicitation !== void 0) {
        inputRequests.user_name = inputRequired.elicit({
          message: "What is your name?",
          requestedSchema: {
            type: "object",
            properties: { name: { type: "string" } },
            required: ["name"]
          }
        });
      }
      if (declared?.sampling !== void 0) {
        inputRequests.greeting = inputRequired.createMessage({
          messages: [{ role: "user", content: { type: "text", text: "Generate a short greeting" } }],
          maxTokens: 50
        });
      }
      if (declared?.roots !== void 0) {
        inputRequests.client_roots = inputRequired.listRoots();
      }
      if (Object.keys(inputRequests).length === 0) {
        return { content: [{ type: "text", text: "No declared client capability supports an in-band \
input request" }] };
      }
      return inputRequired({ inputRequests });
    }
  );
  mcpServer.registerTool(
    "test_trigger_tool_change",
    {
      description: "Listen diagnostic (SEP-2575): publishes a tools/list_changed event onto the hand\
ler bus",
      inputSchema: z.object({})
    },
    async () => {
      modernHandler.notify.toolsChanged();
      return { content: [{ type: "text", text: "tools_list_changed published" }] };
    }
  );
  mcpServer.registerTool(
    "test_trigger_prompt_change",
    {
      description: "Listen diagnostic (SEP-2575): publishes a prompts/list_changed event onto the ha\
ndler bus",
      inputSchema: z.object({})
    },
    async () => {
      modernHandler.notify.promptsChanged();
      return { content: [{ type: "text", text: "prompts_list_changed published" }] };
    }
  );
  mcpServer.registerResource(
    "static-text",
    "test://static-text",
    {
      title: "Static Text Resource",
      description: "A static text resource for testing",
      mimeType: "text/plain"
    },
    async () => {
      return {
        contents: [
          {
            uri: "test://static-text",
            mimeType: "text/plain",
            text: "This is the content of the static text resource."
          }
        ]
      };
    }
  );
  mcpServer.registerResource(
    "static-binary",
    "test://static-binary",
    {
      title: "Static Binary Resource",
      description: "A static binary resource (image) for testing",
      mimeType: "image/png"
    },
    async () => {
      return {
        contents: [
          {
            uri: "test://static-binary",
            mimeType: "image/png",
            blob: TEST_IMAGE_BASE64
          }
        ]
      };
    }
  );
  mcpServer.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: void 0 }),
    {
      title: "Resource Template",
      description: "A resource template with parameter substitution",
      mimeType: "application/json"
    },
    async (uri, variables) => {
      const id = variables.id;
      return {
        contents: [
          {
            uri: uri.toString(),
            mimeType: "application/json",
            text: JSON.stringify({
              id,
              templateTest: true,
              data: `Data for ID: ${id}`
            })
          }
        ]
      };
    }
  );
  mcpServer.registerResource(
    "watched-resource",
    "test://watched-resource",
    {
      title: "Watched Resource",
      description: "Static resource registered for subscribe/unsubscribe testing",
      mimeType: "text/plain"
    },
    async () => {
      return {
        contents: [
          {
            uri: "test://watched-resource",
            mimeType: "text/plain",
            text: watchedResourceContent
          }
        ]
      };
    }
  );
  mcpServer.server.setRequestHandler("resources/subscribe", async (request) => {
    const uri = request.params.uri;
    resourceSubscriptions.add(uri);
    sendLog("info", `Subscribed to resource: ${uri}`);
    return {};
  });
  mcpServer.server.setRequestHandler("resources/unsubscribe", async (request) => {
    const uri = request.params.uri;
    resourceSubscriptions.delete(uri);
    sendLog("info", `Unsubscribed from resource: ${uri}`);
    return {};
  });
  mcpServer.registerPrompt(
    "test_simple_prompt",
    {
      title: "Simple Test Prompt",
      description: "A simple prompt without arguments"
    },
    async () => {
      return {
        messages: [
          {
            role: "user",
            content: {
              type: "text",
              text: "This is a simple prompt for testing."
            }
          }
        ]
      };
    }
  );
  mcpServer.registerPrompt(
    "test_prompt_with_arguments",
    {
      title: "Prompt With Arguments",
      description: "A prompt with required arguments",
      argsSchema: z.object({
        arg1: z.string().describe("First test argument"),
        arg2: z.string().describe("Second test argument")
      })
    },
    async (args) => {
      return {
        messages: [
          {
            role: "user",
            content: {
              type: "text",
              text: `Prompt with arguments: arg1='${args.arg1}', arg2='${args.arg2}'`
            }
          }
        ]
      };
    }
  );
  mcpServer.registerPrompt(
    "test_prompt_with_embedded_resource",
    {
      title: "Prompt With Embedded Resource",
      description: "A prompt that includes an embedded resource",
      argsSchema: z.object({
        resourceUri: z.string().describe("URI of the resource to embed")
      })
    },
    async (args) => {
      return {
        messages: [
          {
            role: "user",
            content: {
              type: "resource",
              resource: {
                uri: args.resourceUri,
                mimeType: "text/plain",
                text: "Embedded resource content for testing."
              }
            }
          },
          {
            role: "user",
            content: {
              type: "text",
              text: "Please process the embedded resource above."
            }
          }
        ]
      };
    }
  );
  mcpServer.registerPrompt(
    "test_input_required_result_prompt",
    {
      title: "MRTR Prompt",
      description: "MRTR (SEP-2322): prompt that requires elicitation input before rendering"
    },
    async (ctx) => {
      const promptCtx = ctx;
      const promptContext = acceptedContent(promptCtx.mcpReq.inputResponses, "user_context")?.context;
      if (typeof promptContext !== "string") {
        return inputRequired({
          inputRequests: {
            user_context: inputRequired.elicit({
              message: "What context should the prompt use?",
              requestedSchema: {
                type: "object",
                properties: { context: { type: "string" } },
                required: ["context"]
              }
            })
          }
        });
      }
      return {
        messages: [
          {
            role: "user",
            content: { type: "text", text: `Use the following context: ${promptContext}` }
          }
        ]
      };
    }
  );
  mcpServer.registerPrompt(
    "test_prompt_with_image",
    {
      title: "Prompt With Image",
      description: "A prompt that includes image content"
    },
    async () => {
      return {
        messages: [
          {
            role: "user",
            content: {
              type: "image",
              data: TEST_IMAGE_BASE64,
              mimeType: "image/png"
            }
          },
          {
            role: "user",
            content: { type: "text", text: "Please analyze the image above." }
          }
        ]
      };
    }
  );
  mcpServer.server.setRequestHandler("logging/setLevel", async (request) => {
    const level = request.params.level;
    sendLog("info", `Log level set to: ${level}`);
    return {};
  });
  mcpServer.server.setRequestHandler("completion/complete", async () => {
    return {
      completion: {
        values: [],
        total: 0,
        hasMore: false
      }
    };
  });
  return mcpServer;
}
const modernHandler = createMcpHandler(() => createMcpServer(), {
  onerror: (error) => console.error("Modern-era MCP handler error:", error)
});
const modernNodeHandler = toNodeHandler(modernHandler);
function headerValue(value) {
  return Array.isArray(value) ? value[0] : value;
}
const app = express();
app.use(express.json());
app.use(localhostHostValidation());
app.use(
  cors({
    origin: "*",
    exposedHeaders: ["Mcp-Session-Id"],
    allowedHeaders: ["Content-Type", "mcp-session-id", "last-event-id", "mcp-protocol-version", "mcp\
-method"]
  })
);
app.post("/mcp", async (req, res) => {
  const sessionId = req.headers["mcp-session-id"];
  try {
    const inbound = classifyInboundRequest({
      httpMethod: req.method,
      protocolVersionHeader: headerValue(req.headers["mcp-protocol-version"]),
      mcpMethodHeader: headerValue(req.headers["mcp-method"]),
      body: req.body
    });
    if (inbound.kind !== "legacy") {
      await modernNodeHandler(req, res, req.body);
      return;
    }
    let transport;
    if (sessionId && transports[sessionId]) {
      transport = transports[sessionId];
    } else if (!sessionId && isInitializeRequest(req.body)) {
      const mcpServer = createMcpServer();
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        eventStore: createEventStore(),
        retryInterval: 500,
        // 5 second retry interval for SEP-1699
        onsessioninitialized: (newSessionId) => {
          transports[newSessionId] = transport;
          servers[newSessionId] = mcpServer;
          console.log(`Session initialized with ID: ${newSessionId}`);
        }
      });
      transport.onclose = () => {
        const sid = transport.sessionId;
        if (sid && transports[sid]) {
          delete transports[sid];
          if (servers[sid]) {
            servers[sid].close();
            delete servers[sid];
          }
          console.log(`Session ${sid} closed`);
        }
      };
      await mcpServer.connect(transport);
      await transport.handleRequest(req, res, req.body);
      return;
    } else if (sessionId) {
      res.status(404).json({
        jsonrpc: "2.0",
        error: { code: -32001, message: "Session not found" },
        id: null
      });
      return;
    } else {
      res.status(400).json({
        jsonrpc: "2.0",
        error: { code: -32e3, message: "Bad Request: Session ID required" },
        id: null
      });
      return;
    }
    await transport.handleRequest(req, res, req.body);
  } catch (error) {
    console.error("Error handling MCP request:", error);
    if (!res.headersSent) {
      res.status(500).json({
        jsonrpc: "2.0",
        error: {
          code: -32603,
          message: "Internal server error"
        },
        id: null
      });
    }
  }
});
app.get("/mcp", async (req, res) => {
  const sessionId = req.headers["mcp-session-id"];
  if (!sessionId) {
    res.status(400).send("Missing session ID");
    return;
  }
  if (!transports[sessionId]) {
    res.status(404).send("Session not found");
    return;
  }
  const lastEventId = req.headers["last-event-id"];
  if (lastEventId) {
    console.log(`Client reconnecting with Last-Event-ID: ${lastEventId}`);
  } else {
    console.log(`Establishing SSE stream for session ${sessionId}`);
  }
  try {
    const transport = transports[sessionId];
    await transport.handleRequest(req, res);
  } catch (error) {
    console.error("Error handling SSE stream:", error);
    if (!res.headersSent) {
      res.status(500).send("Error establishing SSE stream");
    }
  }
});
app.delete("/mcp", async (req, res) => {
  const sessionId = req.headers["mcp-session-id"];
  if (!sessionId) {
    res.status(400).send("Missing session ID");
    return;
  }
  if (!transports[sessionId]) {
    res.status(404).send("Session not found");
    return;
  }
  console.log(`Received session termination request for session ${sessionId}`);
  try {
    const transport = transports[sessionId];
    await transport.handleRequest(req, res);
  } catch (error) {
    console.error("Error handling termination:", error);
    if (!res.headersSent) {
      res.status(500).send("Error processing session termination");
    }
  }
});
const listening = app.listen(0, "127.0.0.1", () => {
  console.log(`listening on ${listening.address().port}`);
});
process.stdin.on("end", () => process.exit()).resume();
