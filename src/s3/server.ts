/** Reads from the host and the responses of an S3 server: its provider, the region of a bucket, and whether it speaks S3 at all. */
import { elementText } from '../base/xml.ts'

type Headers = Readonly<Record<string, string | undefined>>

/** The servers of providers, by their host names. Only there, the name of a region is one of the provider. */
const PROVIDERS: readonly { provider: string; hosts: RegExp }[] = [
  { provider: 'aws', hosts: /(?:^|\.)(?:amazonaws\.(?:com|com\.cn|eu)|api\.aws)\.?$/ },
  { provider: 'gcp', hosts: /(?:^|\.)googleapis\.com\.?$/ },
  { provider: 'aliyun', hosts: /(?:^|\.)aliyuncs\.com\.?$/ },
  { provider: 'tencent', hosts: /(?:^|\.)(?:myqcloud\.com|tencentcos\.cn)\.?$/ },
]

/** Returns the provider of a server by its host name in lower case; undefined for other servers, such as MinIO or Ceph. */
export function providerOfHost(host: string): string | undefined {
  return PROVIDERS.find(({ hosts }) => hosts.test(host))?.provider
}

/** The headers in which S3, OSS and COS name the region of a bucket. OSS writes `oss-` before it. */
const REGION_HEADERS = ['x-amz-bucket-region', 'x-oss-bucket-region', 'x-cos-bucket-region']

/** Returns the region that a response names. It says where the bucket is only if the server belongs to a provider: MinIO always says us-east-1. */
export function regionIn(headers: Headers): string | undefined {
  const region = REGION_HEADERS.map((name) => headers[name]?.replace(/^oss-/, '')).find((value) => value !== undefined)
  return region !== undefined && /^[A-Za-z0-9-]{1,64}$/.test(region) ? region : undefined
}

/**
 * Headers that only S3, GCS, OSS, COS and OBS send, with every response. Other `x-amz-` headers are no proof: CloudFront adds `x-amz-cf-id` to
 * the responses of any server.
 */
const OWN_HEADERS =
  /^x-(?:amz-(?:request-id|id-2|bucket-region)|guploader-uploadid|goog-(?:metageneration|storage-class)|(?:oss|cos|obs)-request-id)$/

/** Whether the headers are those of an S3 server. Some servers send none of them, so their absence is no proof of the opposite. */
export function hasS3Headers(headers: Headers): boolean {
  return Object.keys(headers).some((name) => OWN_HEADERS.test(name))
}

const S3_ELEMENT =
  /^\uFEFF?\s*(?:<\?xml[^>]{0,200}\?>\s*)?<(?:Error|LocationConstraint|ListBucketResult|ListAllMyBucketsResult|CreateBucketConfiguration)[\s/>]/

/** Whether a body is one of S3: an error, or the response to a request for a bucket. */
export function isS3Body(xml: string): boolean {
  return S3_ELEMENT.test(xml)
}

/** Whether a body is the list of all buckets, the response to a request for no bucket. */
export function listsBuckets(xml: string): boolean {
  return /^\uFEFF?\s*(?:<\?xml[^>]{0,200}\?>\s*)?<ListAllMyBucketsResult[\s/>]/.test(xml)
}

const ERROR = /^\uFEFF?\s*(?:<\?xml[^>]{0,200}\?>\s*)?<Error[\s>]/

/** Whether a body is an error of S3. A response of status 200 may have one: S3 sends the status before the end of some long requests. */
export function isS3Error(xml: string): boolean {
  return ERROR.test(xml)
}

/** Returns the code of an error of S3, such as `NoSuchBucket`; undefined for any other text. */
export function s3ErrorCode(xml: string): string | undefined {
  const code = isS3Error(xml) ? elementText(xml, 'Code') : undefined
  return code !== undefined && /^[A-Za-z]{1,80}$/.test(code) ? code : undefined
}
