/** Checks the webhook configurations: whether all webhooks are registered, and with a valid CA. */

import { isDeepStrictEqual } from 'node:util'
import {
  mutatingWebhookConfigurations,
  REGISTRATION_NAME,
  type Registrable,
  validatingWebhookConfigurations,
  type WebhookEntry,
} from '../../api/registration.ts'
import { wantedRegistration } from '../../app/registration.ts'
import { withoutOthers } from '../../reconcile/plan-registration.ts'
import { readObject } from '../../store/cluster/object-writer.ts'
import { type ParsedCertificate, parseCertificates } from '../../tls/x509.ts'
import { type Check, type Finding, failed, passed, type ReadContext, warning } from './check.ts'

const TYPES = [mutatingWebhookConfigurations, validatingWebhookConfigurations]

async function readAll({ connection }: ReadContext): Promise<Map<string, Registrable | undefined>> {
  const read = TYPES.map(
    async (type) => [type.kind, await readObject(connection, type, undefined, REGISTRATION_NAME)] as const,
  )
  return new Map<string, Registrable | undefined>(await Promise.all(read))
}

const REGISTER_AGAIN =
  'Lodestone corrects it within 10 s while it runs with registration.mode url or service; else apply lodestone manifests registration, and give its --config here'

export const registration: Check<ReadContext> = {
  name: 'registration',
  async run(context) {
    const stored = await readAll(context)
    const missing = [...stored].filter(([, object]) => object === undefined).map(([kind]) => kind)
    if (missing.length > 0) {
      return failed(
        `missing: ${missing.map((kind) => `${kind} ${REGISTRATION_NAME}`).join(', ')}`,
        'create it with the chart, or with: lodestone manifests registration --url https://HOST:9443 | kubectl apply -f -',
      )
    }
    const absent = wantedRegistration(context.config).flatMap(({ kind, webhooks = [] }) => {
      const names = new Set(stored.get(kind)?.webhooks?.map(({ name }) => name))
      return webhooks.filter(({ name }) => !names.has(name)).map(({ name }) => name)
    })
    if (absent.length > 0) {
      return failed(
        `not registered: ${absent.join(', ')}`,
        'start this version of Lodestone with registration.mode url or service; see its log for "registration failed"',
      )
    }
    const webhooks = [...stored.values()].flatMap((object) => object?.webhooks ?? [])
    const wanted = wantedRegistration(context.config).flatMap((object) => object.webhooks ?? [])
    const missed = missingRules(wanted, webhooks)
    if (missed.length > 0) return failed(missed.join('; '), REGISTER_AGAIN)
    const changes = changedFields(wanted, webhooks)
    if (changes.length > 0) return warning(changes.join('; '), REGISTER_AGAIN)
    return passed(`${webhooks.length} webhooks at ${[...new Set(webhooks.map(webhookAddress))].join(', ')}`)
  },
}

type Webhook = NonNullable<Registrable['webhooks']>[number]

function webhookAddress({ clientConfig: { url, service } }: Webhook): string {
  return url ? new URL(url).origin : `Service ${service?.namespace}/${service?.name}`
}

/** The serving certificate itself is checked by the API server, which calls the webhooks: see the check `admission`. */
export const certificateAuthority: Check<ReadContext> = {
  name: 'ca-bundle',
  async run(context) {
    const webhooks = [...(await readAll(context)).values()].flatMap((object) => object?.webhooks ?? [])
    const bundles = new Map(webhooks.map(({ name, clientConfig }) => [clientConfig.caBundle ?? '', name]))
    if (bundles.size === 0) return failed('no webhook is registered', 'correct the check "registration" first')
    const findings = [...bundles].map(([bundle, webhook]) => judgeBundle(bundle, webhook, context.now))
    return findings.find(({ result }) => result === 'failed') ?? findings[0] ?? passed('valid')
  },
}

const RENEW =
  'Lodestone sets the bundle within 10 s while it runs with registration.mode url or service; else set caBundle with the tool that creates the certificates'

/** Decides on the CA bundle of a webhook, base64 of PEM. `now` in ms since the epoch. */
export function judgeBundle(bundle: string, webhook: string, now: number): Finding {
  if (bundle === '') return failed(`${webhook} has no caBundle`, RENEW)
  let authorities: ParsedCertificate[]
  try {
    authorities = parseCertificates(Buffer.from(bundle, 'base64').toString('utf8'))
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return failed(`the caBundle of ${webhook} ${error.message}`, RENEW)
  }
  const last = Math.max(...authorities.map(({ notAfter }) => notAfter))
  const until = new Date(last).toISOString()
  const isValid = authorities.some(({ notBefore, notAfter }) => notBefore <= now && now < notAfter)
  if (!isValid && last <= now) return failed(`the CA of ${webhook} has expired at ${until}`, RENEW)
  if (!isValid)
    return failed(`the CA of ${webhook} is not valid yet`, 'compare the clocks of this machine and Lodestone')
  return passed(`valid until ${until}`)
}

type Registered = Partial<WebhookEntry> & Pick<WebhookEntry, 'name'>

/** Names each resource of a wanted rule that the registered webhook of the same name does not receive. */
export function missingRules(wanted: readonly WebhookEntry[], registered: readonly Registered[]): string[] {
  return wanted.flatMap(({ name, rules }) => {
    const known = new Set(interceptedCalls(registered.find((webhook) => webhook.name === name)?.rules ?? []))
    const missing = interceptedCalls(rules).filter((call) => !known.has(call))
    return missing.length === 0 ? [] : [`${name} does not receive ${missing.join(', ')}`]
  })
}

/** Names each registered webhook whose failure policy or namespaces are not those of this version and configuration. */
export function changedFields(wanted: readonly WebhookEntry[], registered: readonly Registered[]): string[] {
  return wanted.flatMap((webhook) => {
    const found = registered.find(({ name }) => name === webhook.name)
    if (found === undefined) return []
    const policy = found.failurePolicy
    return [
      ...(policy === webhook.failurePolicy ? [] : [`failurePolicy of ${webhook.name} is ${policy}`]),
      ...(hasNamespacesOf(found, webhook) ? [] : [`namespaceSelector of ${webhook.name} differs`]),
    ]
  })
}

/** Whether a registered webhook selects the wanted namespaces, apart from requirements of a platform: Lodestone leaves them. */
function hasNamespacesOf(registered: Registered, wanted: WebhookEntry): boolean {
  const { namespaceSelector } = withoutOthers(registered, wanted)
  return isDeepStrictEqual(withExpressions(namespaceSelector), withExpressions(wanted.namespaceSelector))
}

function withExpressions(selector: WebhookEntry['namespaceSelector']) {
  return { matchExpressions: [], ...selector }
}

function interceptedCalls(rules: WebhookEntry['rules']): string[] {
  return rules.flatMap(({ apiGroups, resources, operations }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        operations.map((operation) => `${operation} of ${group === '' ? resource : `${resource}.${group}`}`),
      ),
    ),
  )
}
