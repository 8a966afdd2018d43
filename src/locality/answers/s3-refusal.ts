/** Reads why an S3 server refused a request for a bucket, and whether the reason is the bucket or the request. */
import { elementText } from '../../base/xml.ts'
import { s3ErrorCode } from '../../s3/server.ts'

/** The remedies, by the code of S3. */
const REMEDIES: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: 'correct accessKeyId of endpoint.auth',
  SignatureDoesNotMatch: 'correct secretAccessKey of endpoint.auth',
  ExpiredToken: 'renew sessionToken of endpoint.auth',
  InvalidToken: 'renew sessionToken of endpoint.auth',
  RequestTimeTooSkewed: 'synchronize the clock of the node with that of the server',
  AuthorizationHeaderMalformed: 'set endpoint.auth.region to the region of the server',
  // A code of OSS, which has every bucket in its own host name.
  SecondLevelDomainForbidden: 'set extra.pathStyle to false',
  // The request was one for an object.
  NoSuchKey: 'endpoint.url must not have the name of a bucket',
}

/** The codes of a request that is refused because of the bucket. Without a code, the reason is unknown. */
const ABOUT_BUCKET: ReadonlySet<string | undefined> = new Set([
  'AccessDenied',
  'AllAccessDisabled',
  'PermanentRedirect',
  'TemporaryRedirect',
  undefined,
])

const ENDPOINT = /^[a-z0-9.-]{1,253}$/i

export interface S3Refusal {
  code: string | undefined
  /** For the message of an error; undefined if the body is no error of S3. */
  detail: string | undefined
  /** Whether the server knows the bucket at this endpoint. With invalid credentials, it refuses every name. */
  isAboutBucket: boolean
}

/** Reads the body of a refused request. OSS and S3 name another endpoint for a bucket of another region. */
export function readRefusal(xml: string): S3Refusal {
  const code = s3ErrorCode(xml)
  const endpoint = code === undefined ? undefined : elementText(xml, 'Endpoint')
  const isElsewhere = endpoint !== undefined && ENDPOINT.test(endpoint)
  const elsewhere = isElsewhere ? `the bucket is at ${endpoint}; name it in endpoint.url` : undefined
  const remedy = elsewhere ?? (code !== undefined && Object.hasOwn(REMEDIES, code) ? REMEDIES[code] : undefined)
  return {
    code,
    detail: remedy === undefined ? code : `${code}; ${remedy}`,
    isAboutBucket: !isElsewhere && ABOUT_BUCKET.has(code),
  }
}
