/** The answers of the server, as JSON. */
import type { FastifyReply } from 'fastify'
import { defined } from '../../base/json.ts'
import { JSON_TYPE, problemBody } from '../../server/problem.ts'
import type { Rejection } from './access/viewer.ts'

/** The API version of every answer. Within it, fields are added only. */
const UI_API_VERSION = 'ui.lodestone.dev/v1alpha1'

export function sendAnswer(reply: FastifyReply, kind: string, fields: object): FastifyReply {
  return reply
    .header('cache-control', 'no-store')
    .type(JSON_TYPE)
    .send(`${JSON.stringify({ apiVersion: UI_API_VERSION, kind, ...defined(fields as Record<string, unknown>) })}\n`)
}

export function sendRejection(reply: FastifyReply, { status, message }: Rejection): FastifyReply {
  return reply.code(status).header('cache-control', 'no-store').type(JSON_TYPE).send(problemBody(status, message))
}
