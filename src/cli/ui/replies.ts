/** The answers of the server, as JSON. */
import type { FastifyReply } from 'fastify'
import { defined } from '../../base/json.ts'
import { printable } from '../../base/printable.ts'
import { JSON_TYPE, problemBody } from '../../server/problem.ts'
import type { Rejection } from './access/viewer.ts'

/** The API version of every answer. Within it, fields are added only. */
const UI_API_VERSION = 'ui.lodestone.dev/v1alpha1'

/** Sends an answer of this kind. Fields that are undefined are left out. */
export function sendAnswer(reply: FastifyReply, kind: string, fields: object): FastifyReply {
  return reply
    .header('cache-control', 'no-store')
    .type(JSON_TYPE)
    .send(`${JSON.stringify({ apiVersion: UI_API_VERSION, kind, ...defined(fields as Record<string, unknown>) })}\n`)
}

/** A problem of a body: the path of the field, if it is one, and the rest of the sentence about it. */
export interface BodyProblem {
  path?: string
  message: string
}

/** The most problems that an answer names. */
const MAX_PROBLEMS = 20

/** Rejects a body. The message has all problems in one line; a program reads them one by one. */
export function sendProblems(reply: FastifyReply, problems: readonly BodyProblem[]): FastifyReply {
  const shown = problems
    .slice(0, MAX_PROBLEMS)
    .map(({ path, message }) => defined({ path: path && printable(path), message: printable(message) }))
  const sentences = shown.map(({ path, message }) => (path === undefined ? message : `${path}: ${message}`))
  return reply
    .code(422)
    .header('cache-control', 'no-store')
    .type(JSON_TYPE)
    .send(problemBody(422, sentences.join('; '), { problems: shown }))
}

/** Sends the status and the message of a rejection. */
export function sendRejection(reply: FastifyReply, { status, message }: Rejection): FastifyReply {
  return reply.code(status).header('cache-control', 'no-store').type(JSON_TYPE).send(problemBody(status, message))
}
