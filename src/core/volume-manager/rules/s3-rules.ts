/** The validation rules of sources on S3 servers. */
import { virtualHostFault } from '../../../s3/address.ts'
import { parseRequestHeaders } from '../../../s3/request-headers.ts'
import { onlyForS3 } from './azure-rules.ts'
import {
  boolean,
  credentials,
  endpoint,
  type Rule,
  region,
  required,
  secretName,
  sourceHost,
  sourceUrl,
  verify,
  whenSet,
} from './option-rules.ts'
import { parseBoolean, parseSourceUrl } from './options.ts'

/** The host name of an endpoint with an IP address cannot have the bucket. */
const pathStyle: Rule = whenSet('pathStyle', (text, { options = {} }) => {
  const { endpointURL, s3GatewayURL, sourceURL = '' } = options
  const endpoint = endpointURL || s3GatewayURL
  if (parseBoolean(text) !== false || !endpoint) return undefined
  const fault = virtualHostFault(endpoint, parseSourceUrl(sourceURL)?.bucket ?? '')
  return fault && `pathStyle cannot be false: ${fault}.`
})

const requestHeaders: Rule = whenSet('requestHeaders', (text) => {
  const parsed = parseRequestHeaders(text)
  return 'fault' in parsed
    ? `requestHeaders has to be a JSON object like {"x-tenant": "sales"}: ${parsed.fault}.`
    : undefined
})

export const S3_REQUESTS: readonly Rule[] = [boolean('pathStyle'), pathStyle, boolean('requesterPays'), requestHeaders]

/** The credentials are those of a Secret, or of the role of a ServiceAccount. */
export const S3_CREDENTIALS: Rule = (config, limits) =>
  config.mover?.serviceAccountName === undefined ? credentials('awsCredentialsSecretName')(config, limits) : undefined

export const S3_SOURCE: readonly Rule[] = [
  secretName('awsCredentialsSecretName'),
  sourceUrl,
  sourceHost,
  endpoint('endpointURL'),
  region,
  verify,
  ...S3_REQUESTS,
]

export const S3: readonly Rule[] = [S3_CREDENTIALS, required('sourceURL'), ...S3_SOURCE]

/** Rejects the options of S3 in a stream from Azure. */
export const S3_ONLY: readonly Rule[] = [
  'awsCredentialsSecretName',
  'region',
  'pathStyle',
  'requesterPays',
  'requestHeaders',
].map(onlyForS3)
