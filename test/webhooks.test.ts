/** The golden conversations of webhooks/<name>/examples: what users are shown is what the server answers. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse, parseDocument } from 'yaml'
import type { AdmissionRequest } from '../src/api/admission.ts'
import { apiVersionOf, type K8sObject, type ResourceType } from '../src/api/meta.ts'
import { type Config, DEFAULT_CONFIG } from '../src/app/config.ts'
import { generatedFiles } from '../src/cli/manifests.ts'
import { encodeResponse } from '../src/core/admission/review.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import { webhooksOf } from '../src/webhooks/index.ts'
import { storeOf } from './stores.ts'

const webhooks = webhooksOf(SHIPPED_KINDS)

const NOW = Date.parse('2026-11-20T12:00:00Z')
/** `UPDATE_EXAMPLES=1 npm test` writes the answers anew, to be read as a diff. */
const update = process.env['UPDATE_EXAMPLES'] === '1'

interface Example {
  description: string
  /** Of the configuration, what differs from the default. */
  claims?: Config['claims']
  given: K8sObject[]
  request: Pick<AdmissionRequest, 'operation' | 'object' | 'oldObject'>
  answer: unknown
}

const examples = webhooks.flatMap((webhook) => {
  const folder = join('webhooks', webhook.name, 'examples')
  return readdirSync(folder).map((name) => ({ webhook, file: join(folder, name) }))
})

test.each(examples)('$file', async ({ webhook, file }) => {
  const text = readFileSync(file, 'utf8')
  const { claims = DEFAULT_CONFIG.claims, given, request, answer } = parse(text) as Example
  const store = await storeOf(given)
  const { resources } = webhook
  const reviewed = resources.find(
    (type) => type.kind === request.object?.kind && apiVersionOf(type) === request.object.apiVersion,
  )
  const { group, version, kind, plural } = reviewed ?? (resources[0] as ResourceType)
  const review: AdmissionRequest = {
    uid: 'example',
    kind: { group, version, kind },
    resource: { group, version, resource: plural },
    ...structuredClone(request),
  }

  const outcome = webhook.review(review, {
    store,
    now: NOW,
    propagateDeps: 'dataBound',
    clusterScopedClaims: claims.clusterScoped,
    whenNotReady: 'gate',
  })
  const { uid: _uid, patchType: _type, ...response } = encodeResponse(review, outcome, (patch) => patch)

  const actual = { ...response, ...(response.patch && { patch: JSON.parse(response.patch) }) }
  const expected = update ? writeAnswer(file, text, actual) : answer
  expect(actual).toEqual(expected)
})

/** Replaces the answer of a conversation by the actual one, and returns that. */
function writeAnswer(file: string, text: string, actual: object): object {
  const document = parseDocument(text)
  document.set('answer', document.createNode(actual))
  writeFileSync(file, document.toString({ lineWidth: 0, flowCollectionPadding: false }))
  return actual
}

test('every webhook has golden conversations', () => {
  for (const webhook of webhooks) {
    expect(examples.filter((example) => example.webhook === webhook).length, webhook.name).toBeGreaterThan(0)
  }
})

test.each(Object.entries(generatedFiles()))(
  '%s is what the code says (npm run manifests writes it)',
  (file, content) => {
    expect(readFileSync(file, 'utf8')).toBe(content)
  },
)
