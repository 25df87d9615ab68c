import { defined } from "../../core/defined.ts";
import type { RateLimiter } from "../rate_limiter.ts";
import { interactionGone, shownClient } from "./interaction_pages.ts";
import type { Page, Pages } from "./pages.ts";
import type { KoaContext } from "./provider_types.ts";
import { codeParameter } from "./request_parameters.ts";

const codeProblems = { NotFoundError: true, ExpiredError: true, AlreadyUsedError: true, NoCodeError: true };

/** The pages of the device grant, as the provider's `deviceFlow` takes them (RFC 8628). */
export function createDevicePages({ pages, limiter, addressOf, show }: {
  readonly pages: Pages;
  /** Counts codes that were not right. */
  readonly limiter: RateLimiter;
  readonly addressOf: (context: KoaContext) => string;
  readonly show: (context: KoaContext, page: Page) => void;
}) {
  const action = (context: KoaContext) => context.oidc.urlFor("code_verification");
  const secret = (context: KoaContext) => context.oidc.session?.state?.secret ?? "";
  return {
    mask: "****-****",
    charset: "base-20",
    deviceInfo: () => ({}),
    async userCodeInputSource(
      context: KoaContext,
      _form: string,
      _out: unknown,
      error?: Error & { userCode?: string },
    ) {
      const address = addressOf(context);
      const { session } = context.oidc;
      if (error !== undefined && session?.exp === undefined) {
        // there is nothing yet in which the secret of another form could be kept
        if (session !== undefined) session.touched = false;
        return show(context, pages.error(400, interactionGone));
      }
      if (error?.name === "AbortedError") {
        return show(
          context,
          pages.done("Access denied", "The device gets no access. You can close this page."),
        );
      }
      if (error?.name === "NotFoundError") await limiter.recordFailed(address);
      const typed = error?.userCode ?? context.query[codeParameter];
      const problem = error &&
        (error.name in codeProblems
          ? "This code is wrong, has expired, or was used. Begin anew on your device."
          : "This did not work. Begin anew on your device.");
      show(
        context,
        pages.deviceCode({
          action: action(context),
          secret: secret(context),
          ...(typeof typed === "string" ? { code: typed.slice(0, 40) } : {}),
          ...defined({ problem }),
        }),
      );
    },
    userCodeConfirmSource(
      context: KoaContext,
      _form: string,
      _client: unknown,
      _info: unknown,
      code: string,
    ) {
      const client = shownClient(context.oidc.client);
      show(
        context,
        pages.deviceConfirmation({ action: action(context), secret: secret(context), code, client }),
      );
    },
    successSource: (context: KoaContext) =>
      show(context, pages.done("Access allowed", "Go back to your device. You can close this page.")),
  };
}
