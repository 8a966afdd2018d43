/** The path of a request, by which its endpoint is found. */

/** Returns the URL of a request without its query. */
export function urlPath({ url }: { url: string }): string {
  return url.split('?', 1)[0] ?? ''
}
