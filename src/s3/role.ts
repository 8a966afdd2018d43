/** Temporary keys of a role: their source in the environment of the AWS tools, and the answers of the servers that give them. */
import { isObject, parseJson } from '../base/json.ts'
import { localHostFault } from '../base/net/local-address.ts'
import { withoutTrailingSlashes } from '../base/net/url-encoding.ts'
import { elementText } from '../base/xml.ts'
import { awsDomain } from './address.ts'
import type { AccessKeys } from './sigv4.ts'

/** Keys that expire, in ms since the epoch. */
export interface TemporaryKeys {
  keys: AccessKeys
  expiresAt: number
}

/**
 * - webIdentity: the token of a ServiceAccount, which STS exchanges for the keys of a role (IAM roles for service accounts).
 * - agent: a server on the node that has the keys of the Pod (EKS Pod Identity).
 */
export type RoleSource =
  | { kind: 'webIdentity'; endpoint: string; roleArn: string; sessionName: string; tokenFile: string }
  | { kind: 'agent'; url: string; tokenFile: string | undefined }

type Env = Readonly<Record<string, string | undefined>>

/** The agents of EKS and ECS, which are on the link of the node. */
export const AGENT_NETWORKS: readonly string[] = ['169.254.170.2/32', '169.254.170.23/32', 'fd00:ec2::23/128']

/**
 * Returns the source of temporary keys; undefined if the environment has none. Web identity comes first, as in the AWS SDKs.
 * https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
 *
 * @returns a fault for an environment that would send a token to another server than STS or an agent
 */
export function roleSourceOf(env: Env): RoleSource | { fault: string } | undefined {
  const { AWS_ROLE_ARN: roleArn, AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile } = env
  if (roleArn && tokenFile) {
    const endpoint = stsEndpoint(env)
    if (endpoint === undefined || !isSecret(endpoint)) {
      return { fault: `${STS_VARIABLE} must be a URL with https, or AWS_REGION the name of a region` }
    }
    return { kind: 'webIdentity', endpoint, roleArn, sessionName: sessionNameOf(env), tokenFile }
  }
  const url = env['AWS_CONTAINER_CREDENTIALS_FULL_URI']
  if (!url) return undefined
  return isSecret(url)
    ? { kind: 'agent', url, tokenFile: env['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'] || undefined }
    : { fault: 'AWS_CONTAINER_CREDENTIALS_FULL_URI must be a URL with https, or of the node' }
}

export const STS_VARIABLE = 'AWS_ENDPOINT_URL_STS'

/** https://docs.aws.amazon.com/sdkref/latest/guide/feature-sts-regionalized-endpoints.html */
function stsEndpoint(env: Env): string | undefined {
  const given = env[STS_VARIABLE]
  if (given) return withoutTrailingSlashes(given)
  const region = env['AWS_REGION'] || env['AWS_DEFAULT_REGION']
  if (!region || env['AWS_STS_REGIONAL_ENDPOINTS'] === 'legacy') return 'https://sts.amazonaws.com'
  return /^[a-z0-9-]+$/.test(region) ? `https://sts.${region}.${awsDomain(region)}` : undefined
}

const URL_WITHOUT_QUERY = /^(https?):\/\/(\[[0-9a-fA-F:]+\]|[a-zA-Z0-9.-]+)(:\d{1,5})?(\/[^?#\s]*)?$/

/** Whether a token may be sent there: encrypted, or not beyond the link of the node. */
function isSecret(url: string): boolean {
  const [, scheme, host = ''] = URL_WITHOUT_QUERY.exec(url) ?? []
  return scheme === 'https' || (scheme === 'http' && isOfNode(host))
}

function isOfNode(host: string): boolean {
  return host === '[fd00:ec2::23]' || localHostFault(host, []) !== undefined
}

/** The name of the session, for the logs of AWS. */
function sessionNameOf({ AWS_ROLE_SESSION_NAME: given, POD_NAME: pod }: Env): string {
  const name = (given || pod || 'lodestone').replaceAll(/[^\w+=,.@-]/g, '-').slice(0, 64)
  return name.length < 2 ? 'lodestone' : name
}

/** The body of a request to STS. https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html */
export function assumeRoleBody(
  { roleArn, sessionName }: { roleArn: string; sessionName: string },
  token: string,
): string {
  const parameters = {
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: roleArn,
    RoleSessionName: sessionName,
    WebIdentityToken: token,
  }
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&')
}

/** The keys in an answer of STS; undefined for an answer of another form. */
export function parseAssumedRole(xml: string): TemporaryKeys | undefined {
  return temporaryKeys({
    id: elementText(xml, 'AccessKeyId'),
    secret: elementText(xml, 'SecretAccessKey'),
    token: elementText(xml, 'SessionToken'),
    expiration: elementText(xml, 'Expiration'),
  })
}

/** The keys in an answer of an agent; undefined for an answer of another form. */
export function parseAgentKeys(text: string): TemporaryKeys | undefined {
  const value = parseJson(text)
  if (!isObject(value)) return undefined
  const { AccessKeyId: id, SecretAccessKey: secret, Token: token, Expiration: expiration } = value
  return temporaryKeys({ id, secret, token, expiration })
}

function temporaryKeys({ id, secret, token, expiration }: Record<'id' | 'secret' | 'token' | 'expiration', unknown>) {
  const expiresAt = typeof expiration === 'string' ? Date.parse(expiration) : Number.NaN
  const texts = [id, secret, token].filter((text) => typeof text === 'string' && text !== '') as string[]
  const [accessKeyId, secretAccessKey, sessionToken] = texts
  if (accessKeyId === undefined || secretAccessKey === undefined || texts.length < 3 || Number.isNaN(expiresAt)) {
    return undefined
  }
  return { keys: { accessKeyId, secretAccessKey, sessionToken }, expiresAt }
}

/** How long before their end keys are renewed at most. Keys with a short life are renewed when half of it is over. */
const RENEWAL_MS = 300_000

/** When keys are renewed, in ms since the epoch. */
export function renewalTime({ expiresAt }: Pick<TemporaryKeys, 'expiresAt'>, obtainedAt: number): number {
  return expiresAt - Math.min(RENEWAL_MS, Math.max(0, (expiresAt - obtainedAt) / 2))
}
