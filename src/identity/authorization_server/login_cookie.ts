/** The cookies of who logged in, and of the request for authorization that goes on where a form was sent. */
export const cookieNames = {
  session: "postern_login",
  interaction: "postern_interaction",
  resume: "postern_resume",
} as const;

/**
 * Gives the login of each authorization a cookie of its own: two at once in one browser, in two tabs, would otherwise take
 * each other's place, and one of them would end in an error. The provider has one path for all of them.
 *
 * @param path of the request that is answered
 */
export function separateLogins(response: Response, path: string): Response {
  const lines = response.headers.getSetCookie();
  const resumed = lines.findLast((line) => new RegExp(`^${cookieNames.resume}=[^;]`).test(line));
  const next = resumed === undefined ? path : pathOf(resumed);
  if (next === undefined || !resumePath.test(next)) return response;
  response.headers.delete("set-cookie");
  for (const line of lines) {
    const isLogin = line.startsWith(`${cookieNames.session}=`) ||
      line.startsWith(`${cookieNames.session}.sig=`);
    response.headers.append("set-cookie", isLogin ? line.replace(pathAttribute, `; path=${next}`) : line);
  }
  return response;
}

const pathAttribute = /; path=([^;]*)/i;
/** Where an authorization goes on: it ends with the authorization's own name. */
const resumePath = /\/oauth\/(?:authorize|device\/verify)\/[\w-]+$/;

function pathOf(line: string): string | undefined {
  return pathAttribute.exec(line)?.[1];
}
